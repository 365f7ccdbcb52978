import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const read = (name: string) => readFile(path.join(root, name), 'utf8');

const MOST_WORDS = 450;
const MOST_LINES = 120;
const MOST_CHANGES = 40;

/** The text without fenced blocks, pictures, tables of commands, and the addresses of links. */
function proseOf(markdown: string): string {
  return markdown
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/^<picture>[\s\S]*?^<\/picture>$/gm, '')
    .replace(/^\|.*\|\n\|[-|]+\|\n(?:\| `.*\n)+/gm, '')
    .replace(/\]\([^)]*\)/g, ']');
}

function linesOf(markdown: string, mark: string): string[] {
  const blocks = [...markdown.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  const block = blocks.find((text) => text.includes(mark)) ?? '';
  return block.split('\n').filter((line) => line !== '' && line !== '…');
}

it(`has a README of at most ${MOST_WORDS} words and ${MOST_LINES} lines`, async () => {
  const prose = proseOf(await read('README.md'));
  const words = prose.match(/[\p{L}\p{N}][^\s|]*/gu) ?? [];

  expect(words.length).toBeGreaterThan(200);
  expect(words.length).toBeLessThanOrEqual(MOST_WORDS);
  expect(prose.split('\n').length).toBeLessThanOrEqual(MOST_LINES);
});

it('has steps in the README that the demo prints', async () => {
  const demo = await read('examples/demo/main.js');
  const lines = linesOf(await read('README.md'), '1-second blocks');

  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) {
    const [, title = line] = /^✔ (.+) [\d.]+ s$/.exec(line) ?? [];
    expect(demo).toContain(`'${title}'`);
  }
});

it('has checks in the README that the auditor guide runs', async () => {
  const guide = await read('docs/guides/auditor.md');
  const lines = linesOf(await read('README.md'), 'Verified');

  expect(lines.length).toBeGreaterThan(3);
  expect(lines.filter((line) => !guide.includes(`\n${line}\n`))).toEqual([]);
});

it(`describes a version in at most ${MOST_CHANGES} lines, under known groups`, async () => {
  const versions = (await read('CHANGELOG.md')).split(/^(?=## )/m).slice(1);

  expect(versions.length).toBeGreaterThan(0);
  for (const version of versions) {
    expect(version.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_CHANGES);
    const groups = [...version.matchAll(/^### (.+)$/gm)].map(([, group]) => group);
    expect(['Added', 'Changed', 'Fixed']).toEqual(expect.arrayContaining(groups));
  }
});
