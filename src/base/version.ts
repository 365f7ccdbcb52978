// The version and the folder of the installed package.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the installed package. Source, compiled and bundled files are all two folders below it. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** The version of the installed package. */
export function packageVersion(): string {
  const text = readFileSync(path.join(packageFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
