import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

/** The README's table: a floor imports only floors below it; rooms on one floor do not import each other. */
const floors: Record<string, number> = {
  'src/protocol': 0,
  'src/proof': 0,
  'src/base': 0,
  'src/client': 1,
  'src/chain': 1,
  'src/server/environment.ts': 0,
  'src/server/config.ts': 1,
  'src/server/ports': 1,
  'src/server/rules': 2,
  'src/server/core': 3,
  'src/server/store': 3,
  'src/server/anchoring': 3,
  'src/server/metrics': 3,
  'src/server/http': 4,
  'src/server/main.ts': 5,
  'src/server/commands': 6,
  'src/agent': 6,
  'src/cli': 6,
  'src/dashboard': 6,
};

/** Who may import a package that belongs to one room; everything else is free. */
const owners: Record<string, RegExp> = {
  viem: /^src\/(chain\/|cli\/wallet)/,
  ethers: /^src\/chain\//,
  siwe: /^src\/server\/core\//,
  fastify: /^src\/(server\/http|agent\/local-api)\//,
  'prom-client': /^src\/server\/metrics\//,
  'better-sqlite3': /^src\/(server\/store\/sqlite|agent)\//,
  react: /^src\/dashboard\//,
  commander:
    /^src\/((cli|agent|server\/commands)\/|base\/(config-command|install-commands|report-error))/,
};

interface Import {
  from: string;
  to: string;
  typesOnly: boolean;
}

const imports = sourceFiles().flatMap(importsOf);

function sourceFiles(): string[] {
  return readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => `src/${file.split(path.sep).join('/')}`);
}

function importsOf(from: string): Import[] {
  const text = readFileSync(path.join(root, from), 'utf8');
  const specifiers = text.matchAll(
    /(?:\bimport (type )[^;']*?)?(?:\bfrom|\bimport)\s*\(?\s*'([^'\s]+)'/g,
  );
  return [...specifiers].map(([, type, specifier = '']) => ({
    from,
    typesOnly: type !== undefined,
    to: specifier.startsWith('.')
      ? path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier))
      : specifier,
  }));
}

function roomOf(file: string): string | undefined {
  return Object.keys(floors)
    .filter((room) => file === room || file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0];
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

const internal = imports.filter(({ to }) => to.startsWith('src/'));
const external = imports.filter(({ to }) => !to.startsWith('src/'));

describe('the source', () => {
  it('has a room for every source file', () => {
    expect(sourceFiles().filter((file) => roomOf(file) === undefined)).toEqual([]);
  });

  it('lets a floor import only floors below it', () => {
    const floorOf = (file: string) => floors[roomOf(file) ?? ''] ?? Number.NaN;
    const upward = internal.filter(
      ({ from, to }) => roomOf(from) !== roomOf(to) && !(floorOf(to) < floorOf(from)),
    );
    expect(upward).toEqual([]);
  });

  it('keeps the robot and the command line apart from the server', () => {
    const reaching = internal.filter(
      ({ from, to }) => /^src\/(agent|cli)\//.test(from) && to.startsWith('src/server/'),
    );
    expect(reaching).toEqual([]);
  });

  it('lets the dashboard know of the wire its types and of proofs the checks, and nothing else', () => {
    const beside = internal.filter(
      ({ from, to }) => /^src\/dashboard\//.test(from) && !/^src\/(dashboard|proof)\//.test(to),
    );
    expect(
      beside.filter(({ to, typesOnly }) => !(to.startsWith('src/protocol/') && typesOnly)),
    ).toEqual([]);
  });

  it('keeps each package in the room that owns it', () => {
    const astray = external.filter(({ from, to }) => owners[packageOf(to)]?.test(from) === false);
    expect(astray).toEqual([]);
  });

  it('does no I/O in the protocol and the proof, so that they run anywhere', () => {
    const io = external.filter(
      ({ from, to }) => /^src\/(protocol|proof)\//.test(from) && to.startsWith('node:'),
    );
    expect(io).toEqual([]);
  });

  it.each([
    ['src/proof/index.ts', ['@noble/hashes']],
    ['src/client/index.ts', ['typebox']],
  ])(
    'lets the library entry %s reach no package but %s, so that it runs in a browser',
    (entry, packages) => {
      const reached = new Set([entry]);
      for (const file of reached) {
        for (const { from, to } of internal) if (from === file) reached.add(to);
      }

      const used = external.filter(({ from }) => reached.has(from)).map(({ to }) => packageOf(to));
      expect([...new Set(used)]).toEqual(packages);
    },
  );

  it('is drawn in the README as it is built', () => {
    const rows = readFileSync(path.join(root, 'README.md'), 'utf8').matchAll(
      /^\| `(src\/[^`]+)` \| (\d) \|/gm,
    );
    const drawn = Object.fromEntries([...rows].map(([, room, floor]) => [room, Number(floor)]));
    expect(drawn).toEqual(floors);
  });
});
