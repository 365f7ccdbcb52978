import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { defineConfig } from 'rolldown';
import { routes } from './dist/protocol/routes.js';
import { thirdPartyLicenses } from './third-party-licenses.js';

const require = createRequire(import.meta.url);

/** What TypeScript is to know of a bundle, by file. */
const declarations = (files) => ({
  name: 'declarations',
  generateBundle() {
    for (const [fileName, declaration] of Object.entries(files)) {
      this.emitFile({ type: 'asset', fileName, source: `export ${declaration};\n` });
    }
  },
});

/**
 * conf loads a JSON Schema validator for an option that `svc` does not set, and commander what starts other
 * programs for commands that are programs: both take long to load. Left out, those features would throw.
 */
const withoutUnused = {
  name: 'without-unused',
  resolveId(id, importer = '') {
    const isUnused =
      /^ajv(-formats)?(\/|$)/.test(id) ||
      (id === 'node:child_process' && importer.includes('/node_modules/commander/'));
    return isUnused ? `\0unused:${id}` : null;
  },
  load: (id) =>
    id.startsWith('\0unused:') ? 'export const Ajv2020 = undefined; export default {};' : null,
};

/**
 * The client calls routes by method and path, and answers are held to their shape (src/cli/program/check-answers.ts);
 * building the schemas of all takes a third of a start.
 */
const routesWithoutSchemas = {
  name: 'routes-without-schemas',
  load(id) {
    if (!id.endsWith('/src/protocol/routes.ts')) return null;
    const bare = mapValues(routes, ({ method, path, responses }) => ({
      method,
      path,
      responses: mapValues(responses, shapeOf),
    }));
    return `export const routes = JSON.parse(${JSON.stringify(JSON.stringify(bare))});`;
  },
};

/** What an answer is held to; JSON leaves out what is undefined. */
function shapeOf({ type, required, properties, items, anyOf, pattern }) {
  return {
    type,
    required,
    properties: properties && mapValues(properties, shapeOf),
    items: items && shapeOf(items),
    anyOf: anyOf?.map(shapeOf),
    pattern,
  };
}

function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}

/** Every help text as the bundled program prints it, for `svc` to answer without loading commander. */
const helpTexts = {
  name: 'help-texts',
  async writeBundle({ dir }) {
    const { helpTexts: make } = require(`./${dir}/help-texts.cjs`);
    writeFileSync(new URL(`${dir}/help.json`, import.meta.url), JSON.stringify(await make()));
  },
};

/**
 * `svc` in a few files: reading the hundreds of its packages' own would take longer than most of its
 * commands do. What only some commands need stays apart, and is read by them alone. CommonJS, for loading the
 * first ES module costs a sixth of the start of Node.js itself.
 */
const cli = {
  input: {
    svc: 'src/cli/main.ts',
    'help-texts': 'src/cli/program/help-texts.ts',
  },
  platform: 'node',
  external: [/^(viem|ox|undici)(\/|$)/],
  plugins: [
    declarations({ 'svc.d.cts': 'declare function run(): void' }),
    withoutUnused,
    routesWithoutSchemas,
    helpTexts,
    thirdPartyLicenses,
  ],
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    cleanDir: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
  },
};

/** What checkpoints.ts starts as a thread. */
const checkpointThread = {
  name: 'checkpoint-thread',
  buildStart() {
    this.emitFile({
      type: 'asset',
      fileName: 'checkpoint-thread.js',
      source: readFileSync('src/server/store/sqlite/engine/checkpoint-thread.js'),
    });
  },
};

/** siwe loads all of ethers to check signatures, which is not asked of it here: 15 MB. Left out, that would throw. */
const siweWithoutEthers = {
  name: 'siwe-without-ethers',
  resolveId(id, importer = '') {
    return id === 'ethers' && importer.includes('/node_modules/siwe/') ? '\0no-ethers' : null;
  },
  load: (id) => (id === '\0no-ethers' ? 'export const ethers = {};' : null),
};

/**
 * `svc-server` in a few files without what nothing uses of viem and others: of its own and packages' more than a
 * thousand files, V8 keeps each source with its comments, and Node.js what it knows of each module. ASCII alone,
 * for V8 keeps a source with any other character in two bytes each. Names and lines stay, for stack traces.
 */
const server = {
  input: { program: 'src/server/commands/program.ts' },
  // apg-js, of siwe, writes 'use strict;', which is none; as an ES module it is strict.
  checks: { moduleLevelDirective: false },
  platform: 'node',
  external: [/^(@foundry-rs\/anvil|better-sqlite3|pg|swagger-ui-dist|undici|viem\/chains)(\/|$)/],
  plugins: [
    declarations({
      'program.d.ts': 'declare function main(argv: string[]): Promise<number>',
    }),
    siweWithoutEthers,
    checkpointThread,
    thirdPartyLicenses,
  ],
  output: {
    dir: 'dist/svc-server',
    format: 'esm',
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    comments: false,
    minify: {
      compress: false,
      mangle: false,
      codegen: { removeWhitespace: false, asciiOnly: true },
    },
  },
};

export default defineConfig([cli, server]);
