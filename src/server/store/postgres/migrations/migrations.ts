import type { Migration } from '../engine/migrate.ts';
import { schema } from './001-schema.ts';

/** In order; never edit one that was released. */
export const migrations: readonly Migration[] = [{ sql: schema, worksFrom: 1 }];
