import { defineConfig } from 'vitest/config';

/** Counts what runs, so it has a worker of its own. */
const alone = ['test/full/docs/request-files.test.ts'];

export default defineConfig(({ mode }) => {
  const env = { TEST_CASES: mode === 'full' ? 'all' : 'some' };
  const everyFile = {
    env,
    // Ends what hangs; nothing here is a measure of speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    // How long `expect.poll` reads a page again until it shows what the test expects.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    allowOnly: false,
    // A worker loads the modules once for all its files.
    isolate: false,
    setupFiles: ['test/support/file-setup.ts'],
  };

  // The projects extend nothing: each that does would run the global setup once more.
  return {
    test: {
      ...everyFile,
      globalSetup: ['test/support/global-setup.ts'],
      reporters: process.env.CI ? ['default', 'test/support/slowest-files.ts'] : ['default'],
      // More than the two cores that it is measured on: tests wait for chains, pages and processes.
      maxWorkers: 4,
      projects: [
        {
          test: {
            ...everyFile,
            name: 'default',
            include: ['test/**/*.test.ts'],
            exclude: ['test/full/**'],
            env: { ...env, TEST_STORE: 'sqlite' },
            setupFiles: [...everyFile.setupFiles, 'test/support/process-guard.ts'],
          },
        },
        {
          test: {
            ...everyFile,
            name: 'full',
            include: ['test/full/**/*.test.ts'],
            exclude: alone,
          },
        },
        { test: { ...everyFile, name: 'isolated', isolate: true, include: alone } },
        // What a store matters to most, a second time on the other one.
        {
          test: {
            ...everyFile,
            name: 'postgres',
            include: [
              'test/http/**/*.test.ts',
              'test/full/http/**/*.test.ts',
              'test/chain/anchorer.test.ts',
              'test/full/chain/anchorer.test.ts',
              'test/full/e2e/crash.test.ts',
              'test/full/e2e/exactly-once.test.ts',
            ],
            // The floor of free disk is SQLite's alone.
            exclude: ['test/full/http/disk-room.test.ts'],
            env: { ...env, TEST_STORE: 'postgres' },
          },
        },
      ],
    },
  };
});
