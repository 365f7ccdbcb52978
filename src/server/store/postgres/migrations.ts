// The migrations of a PostgreSQL database, one for each released version.

import { readFileSync } from 'node:fs';
import type { Migration } from './engine/migrate.ts';

const sqlOf = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** In order. Never edit a released one. */
export const migrations: readonly Migration[] = [
  { sql: sqlOf('./postgres-001.sql'), worksFrom: 1 },
  { sql: sqlOf('./postgres-002.sql'), worksFrom: 2 },
];
