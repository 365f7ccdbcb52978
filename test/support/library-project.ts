import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installPacked } from './packed-package.ts';

const page = path.resolve(import.meta.dirname, '../../docs/library.md');

export interface LibraryProject {
  folder: string;
  /** Names of the examples' files. */
  examples: string[];
  remove(): Promise<void>;
}

/** A user's project: the packed package, and the examples of docs/library.md as files of TypeScript. */
export async function createLibraryProject(): Promise<LibraryProject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-library-'));
  await writeFile(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  await installPacked(folder);
  const fences = (await readFile(page, 'utf8')).matchAll(
    /^```ts\n\/\/ ([\w-]+\.ts)\n(.*?)^```$/gms,
  );
  const examples: string[] = [];
  for (const [, name = '', code = ''] of fences) {
    await writeFile(path.join(folder, name), code);
    examples.push(name);
  }
  return { folder, examples, remove: () => rm(folder, { recursive: true, force: true }) };
}
