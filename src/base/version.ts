// The version of the installed package.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageFolder } from './package-folder.ts';

/** The version of the installed package. */
export function packageVersion(): string {
  const text = readFileSync(path.join(packageFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
