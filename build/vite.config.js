// Builds the dashboard from src/dashboard into dist/dashboard, whose files `svc-server` serves.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';
import { thirdPartyLicenses } from './third-party-licenses.js';

/**
 * uPlot builds a number format from the browser's language when it is loaded, and fails if the language is not
 * BCP 47, such as the `en-US@posix` of Chromium without a locale. It has no setting for that, and every text of the
 * dashboard is English.
 */
const inAnyLocale = {
  name: 'in-any-locale',
  /** @param {string} code @param {string} id */
  transform(code, id) {
    if (!/uPlot\.esm\.js$/.test(id)) return null;
    const fixed = code.replace('domEnv ? nav.language : ', '');
    if (fixed === code) throw new Error('uPlot no longer reads the language in the expected place');
    return fixed;
  },
};

/** Mantine declares the shades of all its colors; no page uses these. */
const unusedColors = {
  name: 'unused-colors',
  /** @param {unknown} _ @param {Record<string, { source?: unknown }>} files */
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (typeof file.source !== 'string') continue;
      file.source = file.source.replace(
        /--mantine-color-(pink|grape|violet|indigo|blue|cyan|teal|lime|orange|green)-[\w-]+:[^;}]+;?/g,
        '',
      );
    }
  },
};

/** Writes each script and style in compressed forms too, which the server sends. */
const compressed = {
  name: 'compressed',
  /** @param {{ dir: string }} options @param {Record<string, unknown>} files */
  async writeBundle({ dir }, files) {
    const texts = Object.keys(files).filter((file) => /\.(js|css)$/.test(file));
    await Promise.all(
      texts.map(async (file) => {
        const written = path.join(dir, file);
        const text = await readFile(written);
        await writeFile(`${written}.gz`, gzipSync(text, { level: 9 }));
        await writeFile(`${written}.br`, brotliCompressSync(text));
      }),
    );
  },
};

/**
 * What all pages load, and what all pages of an account load as well. Without these groups each module that two views
 * share gets a file of its own, and a browser reads only six files at a time (HTTP/1.1).
 */
const groups = [
  {
    name: 'base',
    test: /src\/dashboard\/(main|ui\/(badge|card|fields|page|values))\.tsx$/,
    priority: 2,
  },
  {
    name: 'account',
    test: /src\/dashboard\/(shell|ui\/first-call|lists\/robot-links|views\/robots\/battery)\.tsx$|lists\.css/,
    priority: 1,
  },
];

export default defineConfig({
  root: 'src/dashboard',
  plugins: [inAnyLocale, unusedColors, compressed, thirdPartyLicenses],
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy refuses data: fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // In kB: the viewer of /docs, which no other page loads.
    chunkSizeWarningLimit: 1600,
    rolldownOptions: {
      // How long plugins take is nothing that is wrong.
      checks: { pluginTimings: false },
      input: ['src/dashboard/index.html', 'src/dashboard/docs.html'],
      output: { codeSplitting: { groups } },
      onLog(level, log, report) {
        // 'use client' is for servers that render React; none does here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
});
