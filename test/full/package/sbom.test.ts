// Compares dist/sbom.cdx.json with the bundles, which this test makes again.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type OutputOptions, type RolldownOptions, rolldown } from 'rolldown';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import bundles from '../../../build/rolldown.config.js';
import packageJson from '../../../package.json' with { type: 'json' };

interface Component {
  name: string;
  version: string;
  properties: { value: string }[];
}

const root = path.resolve(import.meta.dirname, '../../..');
const sbom: { components: Component[] } = JSON.parse(
  readFileSync(path.join(root, 'dist/sbom.cdx.json'), 'utf8'),
);

/** `name@version` of each package that the document says is in the bundle. */
const listed = (bundle: string) =>
  sbom.components
    .filter(({ properties }) => properties.some(({ value }) => value === bundle))
    .map(({ name, version }) => `${name}@${version}`)
    .sort();

/** `name@version` of each package that a file comes from. */
function packagesOf(files: string[]): string[] {
  const folders = files.flatMap(
    (file) => /^[^\0].*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [],
  );
  const packages = [...new Set(folders)].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    return `${name}@${version}`;
  });
  return [...new Set(packages)].sort();
}

const modulesIn = (output: readonly object[]) =>
  output.flatMap((file) => {
    if ('moduleIds' in file) return file.moduleIds as string[];
    // A font, for example.
    const names = 'originalFileNames' in file ? (file.originalFileNames as string[]) : [];
    return names.map((name) => path.resolve(root, 'src/dashboard', name));
  });

describe('dist/sbom.cdx.json', () => {
  it.each(bundles as (RolldownOptions & { output: OutputOptions })[])(
    'lists the packages in $output.dir',
    async (options) => {
      const bundle = await rolldown({ ...options, cwd: root });
      const { output } = await bundle.generate({ ...options.output, cleanDir: false });
      await bundle.close();

      const packages = packagesOf(modulesIn(output));
      expect(packages.length).toBeGreaterThan(1);
      expect(listed(options.output.dir ?? '')).toEqual(packages);
    },
  );

  it('lists the packages in dist/dashboard', async () => {
    const built = await build({
      configFile: path.join(root, 'build/vite.config.js'),
      root: path.join(root, 'src/dashboard'),
      build: { write: false },
      logLevel: 'warn',
    });

    const packages = packagesOf(
      modulesIn([built].flat().flatMap((each) => ('output' in each ? each.output : []))),
    );
    expect(packages).toContain(`react@${packageJson.devDependencies.react}`);
    expect(listed('dist/dashboard')).toEqual(packages);
  });
});
