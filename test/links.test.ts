import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

it('leads from page to page to headings that are there', async () => {
  const found = await readdir(path.join(root, 'docs'), { recursive: true });
  const pages = ['README.md', ...found.map((name) => path.join('docs', name))];
  const texts = new Map<string, string>();
  for (const page of pages.filter((name) => name.endsWith('.md'))) {
    texts.set(page, await readFile(path.join(root, page), 'utf8'));
  }
  const dead: string[] = [];
  let count = 0;
  for (const [page, text] of texts) {
    for (const [, file, heading] of text.matchAll(/\]\((?!\w+:)([^)#]*)#([^)]+)\)/g)) {
      const target = file ? path.join(path.dirname(page), file) : page;
      count += 1;
      if (!anchorsOf(texts.get(target) ?? '').has(heading ?? '')) {
        dead.push(`${page}: ${file}#${heading}`);
      }
    }
  }

  expect(dead).toEqual([]);
  expect(count).toBeGreaterThan(30);
});

/** As GitHub and npm make them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
