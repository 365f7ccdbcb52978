import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type RunnerTestCase, TestRunner } from 'vitest';

/** Writes what shows how a test failed into a folder: a log, a chain, a screenshot. */
export type FailureRecord = (folder: string) => Promise<void>;

/** The folder of the last run; removed when a run starts. */
export const resultsFolder =
  process.env.TEST_RESULTS ?? path.resolve(import.meta.dirname, '../../test-results');
const open = new Set<FailureRecord>();
const ended = new Set<FailureRecord>();

/**
 * Registers a record that is written when a test fails, into `test-results/<test file>/<test name>`. Call the answer
 * before you close what the record reads.
 */
export function recordFailures(record: FailureRecord): () => Promise<void> {
  open.add(record);
  return async () => {
    open.delete(record);
    await writeRecords([record]);
  };
}

/** As `recordFailures`, for a log. After the answer is called it stays until the end of the current test. */
export function recordLog(name: string, read: () => string | Uint8Array): () => void {
  const record: FailureRecord = (folder) => writeRecord(folder, name, read());
  open.add(record);
  return () => ended.add(record);
}

/** Call at the end of each test. */
export function dropEndedLogs(): void {
  for (const record of ended) open.delete(record);
  ended.clear();
}

/** Writes all that are open if the current test has failed. */
export async function writeRecords(records: Iterable<FailureRecord> = open): Promise<void> {
  const test = TestRunner.getCurrentTest<RunnerTestCase | undefined>();
  if (test?.result?.state !== 'fail') return;
  const folder = folderOf(test);
  await mkdir(folder, { recursive: true });
  for (const record of records) {
    // What cannot be read any more must not hide why the test failed.
    await record(folder).catch((error: unknown) =>
      writeRecord(folder, 'not-recorded.txt', String(error)),
    );
  }
}

/** Writes a file of that name, or with a number where the folder has it. */
export async function writeRecord(
  folder: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  const { name: base, ext } = path.parse(name);
  for (let n = 1; ; n += 1) {
    const file = path.join(folder, n === 1 ? name : `${base}-${n}${ext}`);
    const isTaken = await access(file).then(
      () => true,
      () => false,
    );
    if (!isTaken) return writeFile(file, content);
  }
}

function folderOf({ file, fullTestName }: RunnerTestCase): string {
  const tested = path.relative('test', file.name).replace(/\.test\.ts$/, '');
  const name = fullTestName.replaceAll(/[^\w]+/g, '-').slice(0, 120);
  return path.join(resultsFolder, tested, name);
}
