import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['test/support/shared-postgres.ts'],
    // Ends what hangs; nothing here is a measure of speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    retry: 0,
    allowOnly: false,
    projects: [
      { extends: true, test: { name: 'all', include: ['test/**/*.test.ts'] } },
      // What a store matters to most, a second time on the other one.
      {
        extends: true,
        test: {
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
