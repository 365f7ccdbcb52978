import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';
import { thirdPartyLicenses } from './third-party-licenses.js';

/**
 * uPlot makes a number format of the browser's language when it is loaded, and fails with one that is not
 * BCP 47, such as the `en-US@posix` of Chromium where no locale is set. It has no setting for that, and here
 * every text is English.
 */
const inAnyLocale = {
  name: 'in-any-locale',
  /** @param {string} code @param {string} id */
  transform(code, id) {
    if (!/uPlot\.esm\.js$/.test(id)) return null;
    const mended = code.replace('domEnv ? nav.language : ', '');
    if (mended === code) throw new Error('uPlot no longer reads the language where it did');
    return mended;
  },
};

/** Beside each script and style, as it was written, its compressed form, which is what travels. */
const compressed = {
  name: 'compressed',
  /** @param {{ dir: string }} options @param {Record<string, unknown>} files */
  async writeBundle({ dir }, files) {
    const texts = Object.keys(files).filter((file) => /\.(js|css)$/.test(file));
    await Promise.all(
      texts.map(async (file) => {
        const written = path.join(dir, file);
        await writeFile(`${written}.gz`, gzipSync(await readFile(written), { level: 9 }));
      }),
    );
  },
};

/** The dashboard, from `src/dashboard` into files that `svc-server` serves from the package. */
export default defineConfig({
  root: 'src/dashboard',
  plugins: [inAnyLocale, compressed, thirdPartyLicenses],
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
