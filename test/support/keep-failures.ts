// Runs before each test file: keeps what shows how a test failed (failure-records.ts).
import { afterEach } from 'vitest';
import { writeRecords } from './failure-records.ts';

// Registered first, so it runs after those of the test file, which may have closed and written theirs.
afterEach(() => writeRecords());
