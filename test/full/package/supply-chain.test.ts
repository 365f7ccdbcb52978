import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

interface Locked {
  version: string;
  integrity?: string;
  license?: string;
  dev?: true;
  hasInstallScript?: true;
}

const root = path.resolve(import.meta.dirname, '../../..');
const lockfile = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
const { '': _, ...locked }: Record<string, Locked> = JSON.parse(lockfile).packages;
/** All code of the programs, without the dashboard. */
const code = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.[jt]s$/.test(file) && !file.startsWith('dashboard'))
  .map((file) => readFileSync(path.join(root, 'src', file), 'utf8'))
  .join('\n');
const packages = Object.entries(locked).map(([folder, entry]) => ({
  ...entry,
  folder,
  name: folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length),
}));

/** Licences that let anyone use, change and pass on what is under them, in any product. */
const allowed = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  // Fonts.
  'OFL-1.1',
  'Unlicense',
  'WTFPL',
];

/** As the installed package says; as the lockfile does of one for another platform. */
function licenseOf({ folder, license }: { folder: string; license?: string }): unknown {
  const file = path.join(root, folder, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).license : license;
}

/** Of an SPDX expression, where `OR` leaves the choice. */
function isAllowed(license: unknown): boolean {
  if (typeof license !== 'string') return false;
  return license
    .replace(/^\(|\)$/g, '')
    .split(' OR ')
    .some((choice) => allowed.includes(choice));
}

describe('package.json', () => {
  it('lists the packages that the programs import at run time, without transitive ones', () => {
    const isImported = (name: string) =>
      new RegExp(`from '${name}(/[^']*)?'|\\('${name}[/']`).test(code);

    const missing = Object.keys(packageJson.dependencies).filter((name) => !isImported(name));
    // The peer of siwe, which loads it to check signatures.
    expect(missing).toEqual(['ethers']);
  });
});

describe('the installed packages', () => {
  it('have allowed licenses', () => {
    const installed = packages.filter(({ dev }) => !dev);
    const others = installed.filter((each) => !isAllowed(licenseOf(each)));

    expect(installed.length).toBeGreaterThan(20);
    expect(others.map((each) => `${each.name}: ${licenseOf(each)}`)).toEqual([]);
  });

  it('run no install script except that of the native module', () => {
    const withScript = packages.filter(({ dev, hasInstallScript }) => !dev && hasInstallScript);

    expect(withScript.map(({ name }) => name)).toEqual(['better-sqlite3']);
  });
});

describe('a bundled package', () => {
  it.each(['cli', 'programs', 'dashboard'])('in dist/%s has its license next to it', (folder) => {
    const file = path.join(root, 'dist', folder, 'third-party-licenses.txt');
    const text = readFileSync(file, 'utf8');

    const titles = [...text.matchAll(/^== (\S+) \S+ \((.+)\)$/gm)];
    expect(titles.length).toBeGreaterThan(5);
    expect(titles.filter(([, , license]) => !isAllowed(license))).toEqual([]);
    expect(text).toContain('Permission is hereby granted, free of charge');
  });
});

describe('the lockfile', () => {
  it('allows or denies every install script', () => {
    const withScript = packages.filter(({ hasInstallScript }) => hasInstallScript);

    const names = withScript.map(({ name }) => name).sort();
    expect(Object.keys(packageJson.allowScripts).sort()).toEqual(names);
  });

  it('names no address, and only versions of the registry', () => {
    const declared = [packageJson.dependencies, packageJson.devDependencies].flatMap((each) =>
      Object.values(each),
    );

    expect(lockfile).not.toMatch(/"(resolved|link|inBundle)"/);
    expect(packages.filter(({ version }) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual(
      [],
    );
    expect(declared.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('has the hash of every package, even of binaries for other platforms', () => {
    const loose = packages.filter(({ integrity }) => !integrity?.startsWith('sha512-'));

    expect(loose.map(({ name }) => name)).toEqual([]);
  });
});
