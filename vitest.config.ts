import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/shared-postgres.ts'],
    // Ends what hangs; nothing here is a measure of speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    retry: 0,
    allowOnly: false,
  },
});
