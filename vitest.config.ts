import { defineConfig } from 'vitest/config';

const shared = {
  // Ends what hangs; nothing here is a measure of speed.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  retry: 0,
  allowOnly: false,
};

// The projects extend nothing: each that does would run the global setup once more.
export default defineConfig({
  test: {
    ...shared,
    globalSetup: ['test/support/shared-postgres.ts'],
    maxWorkers: 2,
    projects: [
      { test: { ...shared, name: 'all', include: ['test/**/*.test.ts'] } },
      // What a store matters to most, a second time on the other one.
      {
        test: {
          ...shared,
          name: 'postgres',
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
