// Runs before each test file: keeps what shows how a test failed (failure-records.ts).
import { beforeEach } from 'vitest';
import { dropEndedLogs, writeRecords } from './failure-records.ts';

// After the hooks of the test file, which may have closed and written theirs, even if one of them fails.
beforeEach(({ onTestFinished }) => {
  onTestFinished(async () => {
    await writeRecords();
    dropEndedLogs();
  });
});
