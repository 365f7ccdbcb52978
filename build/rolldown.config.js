// Bundles `svc` into dist/cli, `svc-server`, `svc-agent` and the demo into dist/programs, and the library into dist/library.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { defineConfig } from 'rolldown';
import * as chains from 'viem/chains';
import { routes } from '../dist/protocol/routes.js';
import { localChain, native, unbundled } from './external.js';
import { thirdPartyLicenses } from './third-party-licenses.js';

/**
 * Writes the types of a bundle's exports, by file.
 * @param {Record<string, string>} files
 * @returns {import('rolldown').Plugin}
 */
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
 * @type {import('rolldown').Plugin}
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
 * The routes table without its schemas, which take a third of a start to build. The client needs method and path,
 * and src/client/answers.ts the shape of the answers.
 * @type {import('rolldown').Plugin}
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

/**
 * The part of a schema that answers are checked against; JSON leaves out undefined members.
 * @param {any} schema @returns {object}
 */
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

/** @param {object} object @param {(value: any) => unknown} map */
function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}

/**
 * Leaves out ethers (15 MB), which siwe loads to check signatures, and glob, which @fastify/static loads to list its
 * folder. viem checks signatures here, and no folder is listed; in siwe and @fastify/static both would throw.
 * @type {import('rolldown').Plugin}
 */
const withoutEthersAndGlob = {
  name: 'without-ethers-and-glob',
  resolveId(id, importer = '') {
    const isUnused =
      (id === 'ethers' && importer.includes('/node_modules/siwe/')) ||
      (id === 'glob' && importer.includes('/node_modules/@fastify/static/'));
    return isUnused ? `\0no-${id}` : null;
  },
  load: (id) => (/^\0no-(ethers|glob)$/.test(id) ? `export const ${id.slice(4)} = {};` : null),
};

/**
 * Copies the files that a program reads at run time: the scripts of its threads, and the schemas.
 * @param {string[]} files
 * @returns {import('rolldown').Plugin}
 */
const filesBeside = (files) => ({
  name: 'files-beside',
  buildStart() {
    for (const file of files) {
      this.emitFile({ type: 'asset', fileName: basename(file), source: readFileSync(file) });
    }
  },
});

/**
 * `svc` in a few files: reading the hundreds of files of its packages would take longer than most commands do. A
 * group of commands is a chunk of its own, which only its commands load. CommonJS, because loading the first ES
 * module costs a sixth of the start of Node.js.
 * @type {import('rolldown').RolldownOptions}
 */
const cli = {
  // apg-js (of siwe) has 'use strict;' with the semicolon inside the text; that changes nothing in its modules.
  checks: { moduleLevelDirective: false },
  input: { svc: 'src/cli/main.ts' },
  platform: 'node',
  external: ['undici'],
  plugins: [
    declarations({ 'svc.d.cts': 'declare function run(): void' }),
    withoutUnused,
    routesWithoutSchemas,
    withoutEthersAndGlob,
    filesBeside(['src/chain/keys/scrypt-thread.js']),
    thirdPartyLicenses,
  ],
  output: {
    dir: 'dist/cli',
    format: 'cjs',
    cleanDir: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  },
};

/**
 * The details of viem's chains that src/chain/known-chain.ts reads, without the code of each chain.
 * @type {import('rolldown').Plugin}
 */
const chainsAsData = {
  name: 'chains-as-data',
  resolveId: (id) => (id === 'viem/chains' ? '\0chains' : null),
  load(id) {
    if (id !== '\0chains') return null;
    const lines = Object.entries(chains).map(([name, chain]) => {
      if (!('rpcUrls' in chain)) return '';
      const { nativeCurrency: money, rpcUrls, blockExplorers } = chain;
      const values = [
        ...[chain.id, chain.name, chain.testnet, rpcUrls.default.http[0]],
        ...[blockExplorers?.default.url, money.name, money.symbol, money.decimals],
      ];
      return `export const ${name} = chain(${values.map((value) => JSON.stringify(value ?? null))});`;
    });
    lines.unshift(`const chain = (id, name, testnet, http, url, ...[currency, symbol, decimals]) => ({
      id, name, testnet, rpcUrls: { default: { http: [http] } }, blockExplorers: { default: { url } },
      nativeCurrency: { name: currency, symbol, decimals },
    });`);
    return lines.join('\n');
  },
};

/**
 * `svc-server` and `svc-agent` in a few files, without the unused parts of viem and other packages. This saves memory:
 * of more than a thousand files V8 would keep each source with its comments, and Node.js a record of each module. The
 * output is ASCII, because V8 stores a source with any other character in two bytes each. Names and lines stay for
 * stack traces.
 * @type {import('rolldown').RolldownOptions}
 */
const programs = {
  input: {
    'svc-server': 'src/server/commands/program.ts',
    'svc-agent': 'src/agent/main.ts',
    demo: 'examples/demo/main.js',
  },
  checks: { moduleLevelDirective: false },
  platform: 'node',
  // pg loads pg-native only if a program asks for it.
  external: (id) =>
    [native, localChain, ...unbundled, 'pg-native', 'robot-svc'].some(
      (name) => id === name || id.startsWith(`${name}/`),
    ),
  plugins: [
    declarations({
      'svc-server.d.ts': 'declare function main(argv: string[]): Promise<number>',
      'svc-agent.d.ts': 'declare function main(argv: string[]): Promise<number>',
    }),
    withoutEthersAndGlob,
    chainsAsData,
    filesBeside([
      'src/server/store/sqlite/engine/checkpoint-thread.js',
      'src/chain/recover-thread.js',
      'src/chain/keys/scrypt-thread.js',
      'src/server/store/sqlite/sqlite-001.sql',
      'src/server/store/sqlite/sqlite-002.sql',
      'src/server/store/sqlite/sqlite-003.sql',
      'src/server/store/postgres/postgres-001.sql',
      'src/server/store/postgres/postgres-002.sql',
      'src/server/store/postgres/postgres-003.sql',
    ]),
    thirdPartyLicenses,
  ],
  output: {
    dir: 'dist/programs',
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

/**
 * The entries of the package robot-svc-client, with what they use of the packages of cryptography. undici and the types
 * of typebox come from npm.
 * @type {import('rolldown').RolldownOptions}
 */
const library = {
  input: Object.fromEntries(
    ['client/index', 'client/robot', 'client/files', 'proof/index'].map((name) => [
      name,
      `src/${name}.ts`,
    ]),
  ),
  platform: 'neutral',
  external: /^(node:|undici$|typebox($|\/))/,
  plugins: [thirdPartyLicenses],
  output: { dir: 'dist/library', format: 'esm', cleanDir: true, chunkFileNames: '[name].js' },
};

export default defineConfig([cli, programs, library]);
