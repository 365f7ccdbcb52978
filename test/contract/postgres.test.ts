// @module-tag full
import { storeContract } from './store.contract.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

storeContract('PostgreSQL', openTemporaryPostgres);
