// The migrations of a PostgreSQL database, one for each released version.

import { readFileSync } from 'node:fs';
import type { Migration } from './engine/migrate.ts';

const schema = readFileSync(new URL('./postgres-001.sql', import.meta.url), 'utf8');

/** In order. Never edit a released one. */
export const migrations: readonly Migration[] = [{ sql: schema, worksFrom: 1 }];
