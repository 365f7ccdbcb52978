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
 * `svc` in a few files: reading the hundreds of its packages' own would take longer than most of its
 * commands do. What only some commands need stays apart, and is read by them alone.
 */
export default defineConfig({
  input: { main: 'src/cli/main.ts', 'cli-page': 'src/cli/cli-page.ts' },
  platform: 'node',
  external: [/^(viem|ethers|undici)(\/|$)/],
  plugins: [declarations],
  output: { dir: 'dist/cli', cleanDir: true, chunkFileNames: '[name].js' },
});
