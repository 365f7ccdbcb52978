import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

/** Words and phrases that documentation, source and tests do not use, with every form of their verbs. */
const retired = [
  'whoever',
  'whom(?:ever)?',
  'nobody',
  'somebody',
  'mend(?:s|ed|ing)?',
  'told of',
  '(?:stand|stands|stood|standing) beside',
  'by turns',
  '(?:hold|holds|held|holding) against',
  '(?:begin|begins|began|begun|beginning) anew',
  'anew',
  'made of',
];
const pattern = new RegExp(`\\b(?:${retired.join('|').replaceAll(' ', '\\s+')})\\b`, 'gi');

/** The pages for readers, by their path from the root. */
async function pages(): Promise<string[]> {
  const found = await readdir(path.join(root, 'docs'), { recursive: true });
  const inDocs = found.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  return [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'clients/python/README.md',
    ...inDocs.sort(),
  ];
}

async function retiredIn(page: string): Promise<string[]> {
  const text = await readFile(path.join(root, page), 'utf8');
  return [...text.matchAll(pattern)].map(
    ({ 0: word, index }) => `${page}:${text.slice(0, index).split('\n').length}: ${word}`,
  );
}

it.each(await pages())('finds no retired word in %s', async (page) => {
  expect(await retiredIn(page)).toEqual([]);
});

const sources = {
  'help, messages and comments of the programs': { folder: 'src', skipped: [] as string[] },
  'names and comments of the tests': {
    folder: 'test',
    skipped: ['test/words.test.ts'],
  },
};

it.each(Object.entries(sources))('finds no retired word in %s', async (_, { folder, skipped }) => {
  const names = await readdir(path.join(root, folder), { recursive: true });
  const files = names
    .filter((name) => /\.(tsx?|js)$/.test(name))
    .map((name) => `${folder}/${name.split(path.sep).join('/')}`)
    .filter((file) => !skipped.includes(file));

  expect(files.length).toBeGreaterThan(100);
  expect((await Promise.all(files.map(retiredIn))).flat()).toEqual([]);
});
