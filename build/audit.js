// `npm run audit`: known vulnerabilities of the packages in the bundles and of those that are installed with the
// package, as the registry knows them. Exits with 1 if there are any, and with 75 (EX_TEMPFAIL) if the registry
// answers no audits.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const sbom = path.join(root, 'dist/sbom.cdx.json');
// Older than the lockfile, it could list other versions.
if (!existsSync(sbom) || changedAt(sbom) < changedAt(path.join(root, 'package-lock.json'))) {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 2, 'inherit'] });
}

/** @param {string} file */
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
/** @type {[string, { version: string, dev?: true }][]} */
const locked = Object.entries(read(path.join(root, 'package-lock.json')).packages);
const installed = locked.filter(([folder, { dev }]) => folder !== '' && !dev);
/** @type {{ name: string, version: string }[]} */
const packages = [
  ...read(sbom).components,
  ...installed.map(([folder, { version }]) => ({
    name: folder.split('node_modules/').at(-1) ?? '',
    version,
  })),
];

// A project that has exactly these packages. npm audits a lockfile, and one name can have several versions in it only
// under other names.
const aliases = new Map(packages.map((each) => [`${each.name}-${each.version}`, each]));
const project = {
  name: 'audit',
  version: '0.0.0',
  dependencies: Object.fromEntries(
    [...aliases].map(([alias, { name, version }]) => [alias, `npm:${name}@${version}`]),
  ),
};
const lockfile = {
  lockfileVersion: 3,
  packages: {
    '': project,
    ...Object.fromEntries(
      [...aliases].map(([alias, { name, version }]) => [
        `node_modules/${alias}`,
        { name, version },
      ]),
    ),
  },
};
const folder = mkdtempSync(path.join(tmpdir(), 'svc-audit-'));
writeFileSync(path.join(folder, 'package.json'), JSON.stringify(project));
writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lockfile));
const { stdout } = spawnSync('npm', ['audit', '--json'], { cwd: folder, encoding: 'utf8' });
rmSync(folder, { recursive: true });
process.exitCode = report(stdout ?? '');

/** @param {string} answer of `npm audit --json` */
function report(answer) {
  const { vulnerabilities, metadata } = parse(answer);
  if (metadata === undefined) {
    process.stderr.write(
      'NOT AUDITED: the registry answers no audits; run npm run audit with another\n',
    );
    return 75;
  }
  /** @type {{ name: string, via: Record<'severity' | 'range' | 'title' | 'url', string>[] }[]} */
  const found = Object.values(vulnerabilities);
  for (const { name, via } of found) {
    for (const { severity, range, title, url } of via) {
      process.stderr.write(`${severity}: ${name} ${range}: ${title} (${url})\n`);
    }
  }
  process.stdout.write(`${aliases.size} packages, ${found.length} with known vulnerabilities\n`);
  return found.length === 0 ? 0 : 1;
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** @param {string} file */
function changedAt(file) {
  return statSync(file).mtimeMs;
}
