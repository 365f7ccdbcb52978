import { describe } from 'vitest';
import { collectStatements, sqlitePlans } from './sqlite-plans.ts';
import { storeContract } from './store.contract.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';

const ran = collectStatements();

storeContract('SQLite', openTemporarySqlite);
describe('the statements of the SQLite store', () => sqlitePlans(ran));
