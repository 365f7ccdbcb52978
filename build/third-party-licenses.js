// Writes the licenses of bundled packages next to a bundle, as most licenses require.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * For a package without a license text: its name and author.
 * @type {import('rolldown').Plugin}
 */
export const thirdPartyLicenses = {
  name: 'third-party-licenses',
  generateBundle(_, files) {
    const modules = Object.values(files).flatMap((file) =>
      file.type === 'chunk' ? file.moduleIds : [],
    );
    const folders = new Set(modules.map(packageFolder).filter((folder) => folder !== undefined));
    const source = [...folders].map(licenseIn).sort().join('\n');
    this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source });
  },
};

/** @param {string} file */
function packageFolder(file) {
  return /^[^\0].*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(file)?.[0];
}

/** @param {string} folder */
function licenseIn(folder) {
  const manifest = readFileSync(path.join(folder, 'package.json'), 'utf8');
  const { name, version, license, author } = JSON.parse(manifest);
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file
    ? readFileSync(path.join(folder, file), 'utf8').trim()
    : `By ${author?.name ?? author ?? 'its contributors'}`;
  return `== ${name} ${version} (${license})\n\n${text}\n`;
}
