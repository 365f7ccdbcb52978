/** `npm run campaign:mutations`: breaks the sources, one statement at a time, and looks for the test that notices. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

const help = `npm run campaign:mutations -- [options]

Replaces a text in one source file at a time, in a copy of the sources, and runs the tests that own this file. At least
one test must fail. Prints the mutations that none noticed; exits with 1 if there is one, if a text is no longer in its
file, or if a test fails without a mutation.

  --only TEXT     mutations of the files whose path contains this
  --jobs N        how many run at once (default 2)
  --help
`;

interface Mutation {
  /** A source file, and the text that is replaced there. It must occur once. */
  file: string;
  from: string;
  to: string;
  /** Test files of which one must fail. */
  tests: string[];
}

type Outcome = 'killed' | 'survived' | 'not in the file' | 'no test ran';

/** Ends a loop without an end; that counts as noticed. */
const LONGEST_MS = 180_000;

const root = path.join(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(help);
else process.exitCode = (await campaign()) ? 0 : 1;

async function campaign(): Promise<boolean> {
  const list = await readFile(path.join(import.meta.dirname, 'mutations.json'), 'utf8');
  const mutations: Mutation[] = JSON.parse(list);
  const chosen = mutations.filter(({ file }) => file.includes(values.only));
  const queue = [...chosen];
  const outcomes: Outcome[] = [];
  const work = async () => {
    const folder = await copySources();
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const outcome = await mutate(folder, next);
        outcomes.push(outcome);
        if (outcome === 'killed') continue;
        process.stdout.write(`${outcome}: ${next.file}\n- ${next.from}\n+ ${next.to}\n`);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  const sound = await passesUnchanged(chosen);
  if (sound) await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  const killed = outcomes.filter((outcome) => outcome === 'killed').length;
  process.stdout.write(`${killed} of ${chosen.length} mutations killed\n`);
  return sound && killed === chosen.length;
}

/** A test that fails anyway would kill everything. */
async function passesUnchanged(chosen: readonly Mutation[]): Promise<boolean> {
  const tests = new Set(chosen.flatMap((mutation) => mutation.tests));
  const outcome = await run(root, [...tests]);
  if (outcome !== 'survived') process.stdout.write(`Without a mutation: ${outcome}\n`);
  return outcome === 'survived';
}

async function mutate(folder: string, { file, from, to, tests }: Mutation): Promise<Outcome> {
  const target = path.join(folder, file);
  const code = await readFile(target, 'utf8').catch(() => '');
  if (code.split(from).length !== 2) return 'not in the file';
  await writeFile(
    target,
    code.replace(from, () => to),
  );
  try {
    return await run(folder, tests);
  } finally {
    await writeFile(target, code);
  }
}

/** Whether a test fails. A file that cannot be loaded is not a test that fails. */
async function run(folder: string, tests: readonly string[]): Promise<Outcome> {
  const report = path.join(folder, 'test-results', 'mutation.json');
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const options = [
    '--mode=full',
    '--project=!postgres',
    '--maxWorkers=1',
    '--bail=1',
    '--reporter=json',
  ];
  const child = spawn(
    process.execPath,
    [vitest, 'run', ...options, `--outputFile=${report}`, ...tests],
    {
      cwd: folder,
      stdio: 'ignore',
      timeout: folder === root ? undefined : LONGEST_MS,
    },
  );
  const [, signal] = await once(child, 'exit');
  if (signal !== null) return 'killed';
  const { numFailedTests, numPassedTests } = JSON.parse(await readFile(report, 'utf8'));
  if (numFailedTests > 0) return 'killed';
  return numPassedTests > 0 ? 'survived' : 'no test ran';
}

async function copySources(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-mutations-'));
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: root });
  for (const file of stdout.split('\0').filter(Boolean)) {
    await cp(path.join(root, file), path.join(folder, file));
  }
  for (const shared of ['node_modules', 'dist']) {
    await symlink(path.join(root, shared), path.join(folder, shared));
  }
  return folder;
}
