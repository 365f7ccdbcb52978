import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };

const root = path.join(import.meta.dirname, '..');

/** Every page for readers, by its path from the root. */
async function readPages(): Promise<Map<string, string>> {
  const names = await readdir(root);
  const found = await readdir(path.join(root, 'docs'), { recursive: true });
  const inDocs = found.map((name) => path.join('docs', name));
  const pages = [...names, ...inDocs, 'clients/python/README.md'];
  const texts = new Map<string, string>();
  for (const page of pages.filter((name) => name.endsWith('.md'))) {
    texts.set(page, await readFile(path.join(root, page), 'utf8'));
  }
  return texts;
}

it('has links only to existing files', async () => {
  const dead: string[] = [];
  for (const [page, text] of await readPages()) {
    for (const [, file = ''] of text.matchAll(/\]\((?!\w+:)([^)#]+)(?:#[^)]+)?\)/g)) {
      if (!existsSync(path.join(root, path.dirname(page), file))) dead.push(`${page}: ${file}`);
    }
  }

  expect(dead).toEqual([]);
});

it('links the admin guide to webhooks and alerts', async () => {
  const admin = (await readPages()).get('docs/guides/admin.md');

  for (const target of ['../webhooks.md', '../webhooks.md#alerts']) {
    expect(admin).toContain(`](${target})`);
  }
});

it('names only existing npm scripts', async () => {
  const unknown: string[] = [];
  for (const [page, text] of await readPages()) {
    for (const [, name = ''] of text.matchAll(/npm run ([a-z][\w:-]*)/g)) {
      if (!(name in packageJson.scripts)) unknown.push(`${page}: ${name}`);
    }
  }

  expect(unknown).toEqual([]);
});

it('names only existing files and folders of the repository', async () => {
  const unknown: string[] = [];
  let count = 0;
  for (const [page, text] of await readPages()) {
    if (page === 'CHANGELOG.md') continue; // Describes the past.
    for (const [, name = ''] of text.matchAll(
      /`(?!\S+NNN)((?:src|test|docs|deploy|examples|clients|contracts|build|\.ci)\/[\w./-]+)`/g,
    )) {
      count += 1;
      if (!existsSync(path.join(root, name))) unknown.push(`${page}: ${name}`);
    }
  }

  expect(unknown).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

it('has links only to existing headings', async () => {
  const texts = await readPages();
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
