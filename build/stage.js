// `npm run stage`: puts each package that is published into a folder of its own, as `npm publish FOLDER` sends it. Run
// `npm run build` first.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { localChain, native, ofLibrary, unbundled } from './external.js';

const root = path.join(import.meta.dirname, '..');
if (!existsSync(path.join(root, 'dist/sbom.cdx.json'))) throw new Error('Run npm run build first');

/** @typedef {Record<string, string>} Versions */
/** @typedef {{ dependencies: Versions, devDependencies: Versions, files: string[] } & Record<string, unknown>} Manifest */

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** Where each package goes, its manifest there, and its files: from the root, and to there. */
const packages = [
  { to: 'dist/package', manifestOf: publishedManifest, files: filesOf(root) },
  { to: 'dist/client-package', manifestOf: clientManifest, files: libraryFiles() },
];

for (const { to, manifestOf, files } of packages) {
  const target = path.join(root, to);
  rmSync(target, { recursive: true, force: true });
  for (const [from, file] of Object.entries(files)) {
    cpSync(path.join(root, from), path.join(target, file));
  }
  const text = `${JSON.stringify(manifestOf(manifest), null, 2)}\n`;
  writeFileSync(path.join(target, 'package.json'), text);
  writeShrinkwrap(target);
}

/**
 * What `files` of its package.json names, if it is built or under version control: an operator's keys and settings may be
 * next to the files of deploy.
 *
 * @param {string} folder
 */
function filesOf(folder) {
  const [{ files }] = JSON.parse(npm(folder, 'pack', '--dry-run', '--json', '--ignore-scripts'));
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: folder, encoding: 'utf8' });
  const tracked = new Set(listed.split('\0'));
  /** @type {string[]} */
  const names = files.map((/** @type {{ path: string }} */ file) => file.path);
  const published = names.filter((name) => name.startsWith('dist/') || tracked.has(name));
  return Object.fromEntries(published.map((name) => [name, name]));
}

/** The bundled library, and its types as they are. */
function libraryFiles() {
  /** @type {Record<string, string>} */
  const files = { LICENSE: 'LICENSE', 'clients/typescript/README.md': 'README.md' };
  for (const folder of ['library', 'base', 'client', 'proof', 'protocol']) {
    const names = readdirSync(path.join(root, 'dist', folder), {
      recursive: true,
      encoding: 'utf8',
    });
    for (const name of names) {
      const isWanted = folder === 'library' ? path.extname(name) !== '' : name.endsWith('.d.ts');
      const target = path.join('dist', folder === 'library' ? '' : folder, name);
      if (isWanted) files[path.join('dist', folder, name)] = target;
    }
  }
  return files;
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

/** The library alone, with the entries of the root. @param {Manifest} root */
function clientManifest({ dependencies, version, license, engines, exports, repository }) {
  return {
    name: 'robot-svc-client',
    version,
    description:
      'Clients of robot-svc: a robot anchors evidence and gets receipts; anyone checks them',
    license,
    repository,
    type: 'module',
    engines,
    exports,
    files: ['dist', 'npm-shrinkwrap.json'],
    sideEffects: false,
    dependencies: { typebox: dependencies.typebox, undici: dependencies.undici },
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
