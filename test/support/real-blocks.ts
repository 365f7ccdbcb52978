import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Hex } from '../../src/proof/bytes.ts';

/** A full block as its source has it: header and transactions as raw bytes. */
export interface RealBlock {
  readonly name: string;
  /** Absent if the source does not state it. */
  readonly hash?: Hex;
  readonly header: Hex;
  readonly transactions: readonly Hex[];
}

const folder = path.join(import.meta.dirname, '../proof/data');

/** Blocks of public chains; test/proof/data/README.md names the sources. */
export const realBlocks: readonly RealBlock[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json.gz'))
  .map((file) => ({
    name: file.replace('.json.gz', ''),
    ...JSON.parse(gunzipSync(readFileSync(path.join(folder, file))).toString()),
  }));

/** The type of a raw transaction. */
export function typeOf(raw: Hex): number {
  const first = Number(raw.slice(0, 4));
  return first < 0xc0 ? first : 0;
}
