import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

/** The table of docs/architecture.md. A floor imports only floors below it; its rooms do not import each other. */
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
  'src/server/anchoring': 3,
  'src/server/metrics': 3,
  'src/server/store/db': 3,
  'src/server/store': 4,
  'src/server/store/sqlite': 5,
  'src/server/store/postgres': 5,
  'src/server/store/open-store.ts': 6,
  'src/server/http': 4,
  'src/server/main.ts': 7,
  'src/server/commands': 8,
  'src/agent': 8,
  'src/cli': 8,
  'src/dashboard': 8,
};

/** Who may import a package that belongs to one room; everything else is free. */
const owners: Record<string, RegExp> = {
  viem: /^src\/(chain\/|cli\/sign-in\/key-file)/,
  // Only siwe's peer: nothing here imports it.
  ethers: /^$/,
  ox: /^src\/(chain\/|cli\/output\/amounts)/,
  siwe: /^src\/(server\/core|cli\/sign-in)\//,
  fastify: /^src\/(server\/http|agent\/local-api)\//,
  'prom-client': /^src\/server\/metrics\//,
  'better-sqlite3': /^src\/(server\/store\/sqlite|agent|base\/sqlite)/,
  react: /^src\/dashboard\//,
  commander:
    /^src\/((cli|agent|server\/commands)\/|base\/(completion|config-command|install\/commands|report-error))/,
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

const floorOf = (file: string) => floors[roomOf(file) ?? ''] ?? Number.NaN;

/** The imports from a room that is not below. */
function upward(all: readonly Import[]): Import[] {
  return all.filter(
    ({ from, to }) => roomOf(from) !== roomOf(to) && !(floorOf(to) < floorOf(from)),
  );
}

/** The folders that import each other, but a folder and its own subfolders. */
function mutual(all: readonly Import[]): string[] {
  const pairs = all
    .map(({ from, to }) => [path.posix.dirname(from), path.posix.dirname(to)])
    .filter(
      ([from = '', to = '']) =>
        !`${from}/`.startsWith(`${to}/`) && !`${to}/`.startsWith(`${from}/`),
    );
  const found = new Set(pairs.map((pair) => pair.join(' and ')));
  return [...found].filter((pair) => found.has(pair.split(' and ').reverse().join(' and ')));
}

/** Files that import each other, directly or through others: each file that can reach itself. */
function circles(): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of internal) next.set(from, [...(next.get(from) ?? []), to]);
  return sourceFiles().filter((file) => {
    const reached = new Set(next.get(file));
    for (const each of reached) for (const to of next.get(each) ?? []) reached.add(to);
    return reached.has(file);
  });
}

const internal = imports.filter(({ to }) => to.startsWith('src/'));
const external = imports.filter(({ to }) => !to.startsWith('src/'));

describe('the source', () => {
  it('assigns every source file to a floor', () => {
    expect(sourceFiles().filter((file) => roomOf(file) === undefined)).toEqual([]);
  });

  it('lets a floor import only floors below it', () => {
    expect(upward(internal)).toEqual([]);
  });

  it('has no two folders that import each other', () => {
    expect(mutual(internal)).toEqual([]);
  });

  it.each([
    ['src/server/store/db/database.ts', 'src/server/store/tasks.ts'],
    ['src/server/store/tasks.ts', 'src/server/store/sqlite/claims.ts'],
    ['src/server/store/sqlite/claims.ts', 'src/server/store/postgres/claims.ts'],
    ['src/server/store/sqlite/claims.ts', 'src/server/store/open-store.ts'],
    ['src/server/core/tasks.ts', 'src/server/store/tasks.ts'],
  ])('detects a forbidden import in %s of %s', (from, to) => {
    expect(upward([{ from, to, typesOnly: true }])).toHaveLength(1);
  });

  it('detects two folders that import each other', () => {
    const [a, b] = ['src/cli/output/pages.ts', 'src/cli/program/options.ts'];
    const both = [
      { from: a, to: b, typesOnly: true },
      { from: b, to: a, typesOnly: true },
    ];
    expect(mutual(both)).toHaveLength(2);
  });

  it('has no circular imports, types included', () => {
    expect(circles()).toEqual([]);
  });

  it('has no process-wide handler for uncaught errors', () => {
    const handles = /uncaughtException|unhandledRejection|setUncaughtExceptionCaptureCallback/;

    expect(
      sourceFiles().filter((file) => handles.test(readFileSync(path.join(root, file), 'utf8'))),
    ).toEqual([]);
  });

  it('has at most 25 files in a folder', () => {
    const folders = sourceFiles().map((file) => path.posix.dirname(file));
    const sizeOf = (folder: string) => folders.filter((each) => each === folder).length;
    expect([...new Set(folders)].filter((folder) => sizeOf(folder) > 25)).toEqual([]);
  });

  it('opens each file with a comment that says what it is for', () => {
    const opening = (file: string) => readFileSync(path.join(root, file), 'utf8');
    expect(sourceFiles().filter((file) => !/^(\/\/|\/\*)/.test(opening(file)))).toEqual([]);
  });

  it('lets neither the agent nor the command line import the server', () => {
    const reaching = internal.filter(
      ({ from, to }) => /^src\/(agent|cli)\//.test(from) && to.startsWith('src/server/'),
    );
    expect(reaching).toEqual([]);
  });

  it('lets the dashboard import only the types of the protocol and the proof format', () => {
    const beside = internal.filter(
      ({ from, to }) => /^src\/dashboard\//.test(from) && !/^src\/(dashboard|proof)\//.test(to),
    );
    expect(
      beside.filter(({ to, typesOnly }) => !(to.startsWith('src/protocol/') && typesOnly)),
    ).toEqual([]);
  });

  it('lets only its owners import a package', () => {
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
    ['src/proof/index.ts', ['@noble/hashes', '@noble/curves']],
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

  it('has the floors that docs/architecture.md lists', () => {
    const rows = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8').matchAll(
      /^\| `(src\/[^`]+)` \| (\d) \|/gm,
    );
    const drawn = Object.fromEntries([...rows].map(([, room, floor]) => [room, Number(floor)]));
    expect(drawn).toEqual(floors);
  });
});

describe('docs/architecture.md', () => {
  const page = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8');
  const filesOf = (heading: string) => {
    const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    return [...section.matchAll(/^\| \d+ \| `([^`]+)`/gm)].map(([, file = '']) => file);
  };

  it.each([
    ['A proof, from POST to receipt', 20],
    ["A sample, from the agent's socket to its row", 14],
    ['A key rotation, on the server', 6],
  ])('leads through "%s" in at most %i files, which all exist', (heading, most) => {
    const files = filesOf(heading);

    expect(files.length).toBeGreaterThan(3);
    expect(files.length).toBeLessThanOrEqual(most);
    expect(files.filter((file) => !sourceFiles().includes(file))).toEqual([]);
  });

  it('names no file that does not exist', () => {
    const named = [...page.matchAll(/`(src\/[\w/.-]+\.tsx?)`/g)].map(([, file = '']) => file);

    expect(named.length).toBeGreaterThan(35);
    expect(named.filter((file) => !sourceFiles().includes(file))).toEqual([]);
  });
});

it('lists existing helpers in test/support/README.md', () => {
  const page = readFileSync(path.join(root, 'test/support/README.md'), 'utf8');
  const files = ['support', 'contract'].flatMap((folder) =>
    readdirSync(path.join(root, 'test', folder)),
  );
  const named = [...page.matchAll(/`([\w-]+\.[jt]s)`/g)].map(([, file = '']) => file);
  expect(named.filter((file) => !files.includes(file))).toEqual([]);
});

it('mutates only lines that the sources have', () => {
  const file = path.join(root, 'test/mutations/mutations.json');
  const mutations: { file: string; from: string }[] = JSON.parse(readFileSync(file, 'utf8'));

  const lost = mutations.filter(
    ({ file, from }) => !readFileSync(path.join(root, file), 'utf8').includes(from),
  );
  expect(lost).toEqual([]);
});
