import { defineConfig } from 'vitest/config';

const shared = {
  // Ends what hangs; nothing here is a measure of speed.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  retry: 0,
  // How long `expect.poll` reads a page again until it shows what the test expects.
  expect: { poll: { timeout: 30_000, interval: 20 } },
  allowOnly: false,
  setupFiles: ['test/support/before-each-file.ts'],
  tags: [{ name: 'full', description: 'Only `npm run test:full` runs it: docs/testing.md' }],
};

/** What these replace or reset would stay so for the files that follow in the same worker. */
const replaceModules = [
  'test/base/new-id-layout.test.ts',
  'test/base/new-id.test.ts',
  'test/contract/postgres-queries.test.ts',
];

// The projects extend nothing: each that does would run the global setup once more.
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/global-setup.ts'],
    // More than the two cores that it is measured on: tests wait for chains, pages and processes.
    maxWorkers: 4,
    projects: [
      {
        test: {
          ...shared,
          name: 'all',
          // A worker loads the modules once for all its files.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: replaceModules,
        },
      },
      { test: { ...shared, name: 'isolated', include: replaceModules } },
      // What a store matters to most, a second time on the other one.
      {
        test: {
          ...shared,
          name: 'postgres',
          isolate: false,
          include: [
            'test/http/**/*.test.ts',
            'test/chain/anchorer.test.ts',
            'test/e2e/crash.test.ts',
            'test/e2e/exactly-once.test.ts',
          ],
          // The floor of free disk is SQLite's alone.
          exclude: ['test/http/disk-room.test.ts'],
          env: { TEST_STORE: 'postgres' },
        },
      },
    ],
  },
});
