// Writes a file that the caller named: whole, or not at all.
import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { SvcError } from '../../base/svc-error.ts';

/** @throws SvcError `file_not_written` */
export async function saveFile(file: string, text: string): Promise<void> {
  try {
    await writeWhole(file, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SvcError('file_not_written', `Cannot write ${file} (${code}).`);
  }
}

/** Writes the whole text durably, or leaves the file as it was. */
async function writeWhole(file: string, text: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  // Write to a pipe or a device; never replace it.
  if (found !== null && !found.isFile()) return writeFile(file, text);
  const target = found === null ? file : await realpath(file);
  const part = `${target}.${randomUUID()}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', flush: true, ...(found && { mode: found.mode }) });
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
