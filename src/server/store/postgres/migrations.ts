// The migrations of a PostgreSQL database, one for each released version.

import { readFileSync } from 'node:fs';
import type { Migration } from './engine/migrate.ts';

const schema = readFileSync(new URL('./postgres-001.sql', import.meta.url), 'utf8');

/** In order. Never edit a released one. */
export const migrations: readonly Migration[] = [
  { sql: schema, worksFrom: 1 },
  {
    // The number of the block whose hash is in genesis_hash.
    sql: 'ALTER TABLE chain_identity ADD COLUMN block_number bigint NOT NULL DEFAULT 0',
    worksFrom: 1,
  },
];
