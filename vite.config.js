import { defineConfig } from 'vite';

/**
 * uPlot makes a number format of the browser's language when it is loaded, and fails with one that is not
 * BCP 47, such as the `en-US@posix` of Chromium where no locale is set. Here every text is English.
 */
const inAnyLocale = {
  name: 'in-any-locale',
  /** @param {string} code @param {string} id */
  transform(code, id) {
    return /uPlot\.esm\.js$/.test(id) ? code.replace('domEnv ? nav.language : ', '') : null;
  },
};

/** The dashboard, from `src/dashboard` into files that `svc-server` serves from the package. */
export default defineConfig({
  root: 'src/dashboard',
  plugins: [inAnyLocale],
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
