import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type RunnerTestCase, TestRunner } from 'vitest';

/** Writes what shows how a test failed into a folder: a log, a chain, a screenshot. */
export type FailureRecord = (folder: string) => Promise<void>;

const root = path.resolve(import.meta.dirname, '../..');
const open = new Set<FailureRecord>();

/**
 * Has this written if a test fails, into `test-results/<test file>/<test name>`. Call the answer before what it reads is
 * closed: that writes it as well where the current test has failed.
 */
export function recordFailures(record: FailureRecord): () => Promise<void> {
  open.add(record);
  return async () => {
    open.delete(record);
    await writeRecords([record]);
  };
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
  return path.join(root, 'test-results', tested, name);
}
