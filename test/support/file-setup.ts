// Runs before each test file: builds programs that changed, keeps the records of a failed test (failure-records.ts) and seeds property tests.
import fc from 'fast-check';
import { beforeEach, expect } from 'vitest';
import { dropEndedLogs, writeRecords } from './failure-records.ts';
import { askRun } from './test-run.ts';

// Tests of programs use dist/. The others do not wait for a build.
if (/[\\/]test[\\/](full|smoke)[\\/]/.test(expect.getState().testPath ?? '')) await askRun('build');

// After the hooks of the test file, which may have closed and written theirs, even if one of them fails.
beforeEach(({ onTestFinished }) => {
  onTestFinished(async () => {
    await writeRecords();
    dropEndedLogs();
  });
});

// The same cases in each run, so that a green run stays green. SVC_TEST_SEED is another seed, or `random`.
const seed = process.env.SVC_TEST_SEED ?? '1';
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) });
