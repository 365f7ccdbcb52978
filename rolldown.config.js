import { defineConfig } from 'rolldown';

/** What TypeScript is to know of the bundle. */
const declarations = {
  name: 'declarations',
  generateBundle() {
    for (const [name, declaration] of Object.entries({
      main: 'main(argv: string[]): Promise<number>',
      'cli-page': 'cliPage(): string',
    })) {
      const source = `export declare function ${declaration};\n`;
      this.emitFile({ type: 'asset', fileName: `${name}.d.ts`, source });
    }
  },
};

/**
 * conf loads a JSON Schema validator for an option that `svc` does not set: 20 ms of every start. Left out,
 * that option would throw.
 */
const withoutSchemas = {
  name: 'without-schemas',
  resolveId: (id) => (/^ajv(-formats)?(\/|$)/.test(id) ? `\0${id}` : null),
  load: (id) =>
    id.startsWith('\0ajv') ? 'export const Ajv2020 = undefined; export default {};' : null,
};

/**
 * `svc` in a few files: reading the hundreds of its packages' own would take longer than most of its
 * commands do. What only some commands need stays apart, and is read by them alone.
 */
export default defineConfig({
  input: { main: 'src/cli/main.ts', 'cli-page': 'src/cli/cli-page.ts' },
  platform: 'node',
  external: [/^(viem|ethers|undici)(\/|$)/],
  plugins: [declarations, withoutSchemas],
  output: { dir: 'dist/cli', cleanDir: true, chunkFileNames: '[name].js' },
});
