// Writes the licenses of bundled packages next to a bundle, as most licenses require.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * For a package without a license text: its name and author.
 * @type {import('rolldown').Plugin}
 */
export const thirdPartyLicenses = {
  name: 'third-party-licenses',
  generateBundle(_, files) {
    const modules = Object.values(files).flatMap((file) =>
      file.type === 'chunk' ? file.moduleIds : file.originalFileNames.map(installed),
    );
    const folders = new Set(modules.map(packageFolder).filter((folder) => folder !== undefined));
    const source = [...folders].map(licenseIn).sort().join('\n');
    this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source });
  },
};

/** The file of an installed package that became an asset, such as a font. @param {string} name */
function installed(name) {
  return path.resolve(name.slice(Math.max(0, name.indexOf('node_modules'))));
}

/** @param {string} file */
function packageFolder(file) {
  return /^[^\0].*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(file)?.[0];
}

/** @param {string} folder */
function licenseIn(folder) {
  const manifest = readFileSync(path.join(folder, 'package.json'), 'utf8');
  const { name, version, license, author } = JSON.parse(manifest);
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  // swagger-ui-dist is a bundle, of packages with licenses of their own.
  const inner = path.join(folder, 'swagger-ui-es-bundle.js.LICENSE.txt');
  const text = file
    ? [path.join(folder, file), ...(existsSync(inner) ? [inner] : [])]
        .map((each) => readFileSync(each, 'utf8').trim())
        .join('\n\n')
    : `By ${author?.name ?? author ?? 'its contributors'}`;
  return `== ${name} ${version} (${license})\n\n${text}\n`;
}
