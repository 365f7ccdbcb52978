import { storeContract } from '../../contract/store.contract.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

storeContract('PostgreSQL', openTemporaryPostgres);
