import { open } from 'node:fs/promises';
import { unreadableFile } from '../base/unreadable-file.ts';

/** Text of a file that holds a secret; `warn` is told when others can read it. Throws `usage`. */
export async function readSecretFile(file: string, warn: (text: string) => void): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { mode } = await handle.stat();
      if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
        warn(`${file} can be read by others (mode ${(mode & 0o777).toString(8)}): chmod 600 it.`);
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unreadableFile(file, error);
  }
}
