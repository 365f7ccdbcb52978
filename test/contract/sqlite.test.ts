import { describe } from 'vitest';
import { sqlitePlans } from './sqlite-plans.ts';
import { storeContract } from './store.contract.ts';
import { collectStatements } from './templates.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';

const ran = collectStatements('sqlite');

storeContract('SQLite', openTemporarySqlite);
describe('the statements of the SQLite store', () => sqlitePlans(ran));
