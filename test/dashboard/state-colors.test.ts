import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

type Vector = [number, number, number];

/** What is next to each other in the bar of a robot's states: the colors of states, and of time without telemetry. */
const names = [
  'bad-bar',
  'busy-bar',
  'good-bar',
  'warn-bar',
  'plain-bar',
  'other-bar',
  'plain-soft',
];
const LEAST_DIFFERENCE = 15;

/** Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB. */
const visions: Record<string, Vector[]> = {
  'ordinary vision': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const tokens = await readFile(
  new URL('../../src/dashboard/styles/tokens.css', import.meta.url),
  'utf8',
);
const [, light = '', dark = ''] = tokens.split(/^:root.*\{$/m);

function colorsOf(block: string): Map<string, Vector> {
  const found = block.matchAll(/--([a-z-]+): #([0-9a-f]{6});/g);
  return new Map(Array.from(found, ([, name = '', hex = '']) => [name, linearOf(hex)]));
}

/** Linear RGB of a color of sRGB. */
function linearOf(hex: string): Vector {
  const parts = [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  return parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as Vector;
}

const times = (rows: Vector[], v: Vector): Vector =>
  rows.map((row) => row.reduce((sum, x, i) => sum + x * (v[i] ?? 0), 0)) as Vector;

/** CIE L*a*b* under D65. */
function labOf(rgb: Vector): Vector {
  const [x, y, z] = times(
    [
      [0.4339, 0.3762, 0.1899],
      [0.2126, 0.7152, 0.0722],
      [0.0178, 0.1095, 0.8727],
    ],
    rgb,
  ).map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116)) as Vector;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** CIEDE2000. */
function difference([l1, a1, b1]: Vector, [l2, a2, b2]: Vector): number {
  const grown = (c: number) => Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const wider = 1.5 - grown((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2) / 2;
  const [c1, c2] = [Math.hypot(a1 * wider, b1), Math.hypot(a2 * wider, b2)];
  const hue = (a: number, b: number) => (Math.atan2(b, a * wider) * 180) / Math.PI;
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)];
  const turn = ((h2 - h1 + 540) % 360) - 180;
  const h = h1 + turn / 2;
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const t =
    1 -
    0.17 * Math.cos(radians(h - 30)) +
    0.24 * Math.cos(radians(2 * h)) +
    0.32 * Math.cos(radians(3 * h + 6)) -
    0.2 * Math.cos(radians(4 * h - 63));
  const dl = (l2 - l1) / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2));
  const dc = (c2 - c1) / (1 + 0.045 * c);
  const dh = (2 * Math.sqrt(c1 * c2) * Math.sin(radians(turn / 2))) / (1 + 0.015 * c * t);
  const from275 = ((h + 360) % 360) - 275;
  const rotation = -2 * grown(c) * Math.sin(radians(60 * Math.exp(-((from275 / 25) ** 2))));
  return Math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rotation * dc * dh);
}

describe.each([
  ['light', colorsOf(light)],
  ['dark', colorsOf(dark)],
])('in the %s scheme', (_, colors) => {
  it.each(Object.entries(visions))('states differ by a ΔE of 15 with %s', (_, vision) => {
    const labs = names.map((name) => {
      const color = colors.get(name);
      if (color === undefined) throw new Error(`There is no color ${name}`);
      return {
        name,
        lab: labOf(times(vision, color).map((c) => Math.min(1, Math.max(0, c))) as Vector),
      };
    });
    const alike = labs.flatMap((one, i) =>
      labs
        .slice(i + 1)
        .filter((other) => difference(one.lab, other.lab) < LEAST_DIFFERENCE)
        .map((other) => `${one.name} and ${other.name}`),
    );

    expect(alike).toEqual([]);
  });
});
