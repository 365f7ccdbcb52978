import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** Every file of a working tree, as it stands there, but those that git ignores. */
export async function copyTree(from: string, to: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: from, maxBuffer: 2 ** 26 });
  const wanted = new Set(['']);
  for (let file of stdout.split('\0')) {
    for (; file !== '' && file !== '.'; file = path.dirname(file)) wanted.add(file);
  }
  await cp(from, to, {
    recursive: true,
    filter: (source) => wanted.has(path.relative(from, source)),
  });
}
