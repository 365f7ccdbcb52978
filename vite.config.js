import { defineConfig } from 'vite';

/** The dashboard, from `src/dashboard` into files that `svc-server` serves from the package. */
export default defineConfig({
  root: 'src/dashboard',
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // A data: font or script is one that the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      onLog(level, log, report) {
        // 'use client' says something to servers that draw React; none does here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
});
