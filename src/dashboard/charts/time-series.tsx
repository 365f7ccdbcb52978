// A chart of a measurement over time (uPlot).
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import './charts.css';

/** The measurements of one interval; null without any. */
type Spread = { min: number; avg: number; max: number } | null;

interface TimeSeriesProps {
  title: string;
  /** Starts of the intervals, in ms. */
  at: number[];
  spreads: Spread[];
  unit?: string;
  /** Fixed range of the scale. */
  range?: [number, number];
}

const HEIGHT = 180;

/** A line of averages in front of the range between minimum and maximum. The line has the gaps of the telemetry. */
export function TimeSeries({ title, at, spreads, unit = '', range }: TimeSeriesProps) {
  const host = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect reads the colors of the color scheme
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    const plot = new uPlot(optionsOf(current, range), dataOf(at, spreads), current);
    const resize = new ResizeObserver(() => {
      plot.setSize({ width: current.clientWidth, height: HEIGHT });
    });
    resize.observe(current);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [at, spreads, range, scheme]);
  return (
    <figure className="series">
      <figcaption>
        <span className="card-title">{title}</span>
        <span className="series-summary">{summaryOf(spreads, unit)}</span>
      </figcaption>
      <div ref={host} role="img" aria-label={`${title}: ${summaryOf(spreads, unit)}`} />
    </figure>
  );
}

function dataOf(at: number[], spreads: Spread[]): uPlot.AlignedData {
  const pick = (member: 'min' | 'avg' | 'max') => spreads.map((spread) => spread?.[member] ?? null);
  return [at.map((ms) => ms / 1000), pick('max'), pick('min'), pick('avg')];
}

function optionsOf(host: HTMLElement, range: [number, number] | undefined): uPlot.Options {
  const style = getComputedStyle(host);
  const color = (name: string) => style.getPropertyValue(name);
  const axis = {
    stroke: color('--mantine-color-dimmed'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1 },
  };
  const edge = { stroke: 'transparent', width: 0, points: { show: false } };
  return {
    width: host.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: range === undefined ? {} : { range } },
    axes: [
      { ...axis, values: namesOf },
      { ...axis, size: 46, values: (_, values) => values.map((value) => short.format(value)) },
    ],
    series: [
      {},
      edge,
      edge,
      { stroke: color('--busy-bar'), width: 2, points: { size: 4, fill: color('--busy-bar') } },
    ],
    bands: [{ series: [1, 2], fill: `${color('--busy-bar')}30` }],
  };
}

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const minute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** Labels for times, in seconds, that are `step` seconds apart. */
function namesOf(
  _: uPlot,
  moments: number[],
  _axis: number,
  _space: number,
  step: number,
): string[] {
  const format = step >= 86_400 ? day : minute;
  return moments.map((seconds) => format.format(seconds * 1000));
}

function summaryOf(spreads: Spread[], unit: string): string {
  const measured = spreads.filter((spread) => spread !== null);
  if (measured.length === 0) return 'no readings in this period';
  const number = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 4 });
  const lowest = Math.min(...measured.map(({ min }) => min));
  const highest = Math.max(...measured.map(({ max }) => max));
  const last = measured.at(-1)?.avg ?? 0;
  return `${number(lowest)} to ${number(highest)}${unit}, last ${number(last)}${unit}`;
}
