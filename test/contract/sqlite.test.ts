import { storeContract } from './store.contract.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';

storeContract('SQLite', openTemporarySqlite);
