import { spine } from './001-spine.ts';

/** In order; `PRAGMA user_version` is how many of them a database has. Never edit one that was released. */
export const migrations: readonly string[] = [spine];
