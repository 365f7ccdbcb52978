// `npm run stage`: puts each package that is published into a folder of its own, as `npm publish FOLDER` sends it. Run
// `npm run build` first.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { localChain, native, ofLibrary, unbundled } from './external.js';

const root = path.join(import.meta.dirname, '..');
if (!existsSync(path.join(root, 'dist/sbom.cdx.json'))) throw new Error('Run npm run build first');

/** @typedef {Record<string, string>} Versions */
/** @typedef {{ dependencies: Versions, devDependencies: Versions, files: string[] } & Record<string, unknown>} Manifest */

/** Where each package comes from, where it goes, and its manifest there. */
const packages = [{ from: '.', to: 'dist/package', manifestOf: publishedManifest }];

for (const { from, to, manifestOf } of packages) {
  const [source, target] = [path.join(root, from), path.join(root, to)];
  const manifest = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
  rmSync(target, { recursive: true, force: true });
  for (const file of filesOf(source)) cpSync(path.join(source, file), path.join(target, file));
  const text = `${JSON.stringify(manifestOf(manifest), null, 2)}\n`;
  writeFileSync(path.join(target, 'package.json'), text);
  writeShrinkwrap(target);
}

/** What `files` of its package.json names. @param {string} folder */
function filesOf(folder) {
  const [{ files }] = JSON.parse(npm(folder, 'pack', '--dry-run', '--json', '--ignore-scripts'));
  return files.map((/** @type {{ path: string }} */ file) => file.path);
}

/**
 * The manifest of the root without what is bundled. better-sqlite3 is optional, so that `svc` installs where nothing
 * compiles. The programs run when they are imported; no other module has a side effect.
 * @param {Manifest} root
 */
function publishedManifest({ dependencies, devDependencies, files, ...root }) {
  const { private: _, scripts: __, overrides: ___, ...published } = root;
  const pick = (/** @type {string[]} */ names) =>
    Object.fromEntries(names.map((name) => [name, dependencies[name]]));
  return {
    ...published,
    files: [...files, 'npm-shrinkwrap.json'],
    sideEffects: ['./bin/*', './dist/cli/*', './dist/dashboard/**', './dist/programs/*'],
    dependencies: pick([...ofLibrary, ...unbundled].sort()),
    optionalDependencies: pick([native]),
    peerDependencies: { [localChain]: `^${devDependencies[localChain]}` },
    peerDependenciesMeta: { [localChain]: { optional: true } },
    allowScripts: { [native]: true },
  };
}

/** Reduces the root's lockfile to the packages that the manifest in the folder needs. Asks no registry. @param {string} folder */
function writeShrinkwrap(folder) {
  const lockfile = path.join(folder, 'package-lock.json');
  cpSync(path.join(root, 'package-lock.json'), lockfile);
  const settings = ['--omit-lockfile-registry-resolved', '--no-audit', '--no-fund'];
  npm(folder, 'install', '--package-lock-only', '--ignore-scripts', '--offline', ...settings);
  renameSync(lockfile, path.join(folder, 'npm-shrinkwrap.json'));
}

/** @param {string} cwd @param {string[]} args */
function npm(cwd, ...args) {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
