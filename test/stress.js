// `npm run test:stress`: runs the files of `npm test` several times in random order, beside a load on every core. Prints
// the seed of each run. Ends with 1 at the first run that fails; its output is shown, and test-results/ has what the
// failed test did.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

const help = `npm run test:stress -- [--runs N] [--project NAME] [FILE ...]

  --runs N         number of runs (default: 12)
  --project NAME   of vitest.config.ts (default: default)
  FILE             part of the path of a test file; without any, all files of the project
`;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    project: { type: 'string', default: 'default' },
    runs: { type: 'string', default: '12' },
  },
});
if (values.help) process.stdout.write(help);
else if (/^[1-9]\d*$/.test(values.runs)) await stress(Number(values.runs));
else throw new Error(`--runs is no number of runs: ${values.runs}`);

/** @param {number} runs */
async function stress(runs) {
  const load = Array.from(
    { length: availableParallelism() },
    () => new Worker('for (;;);', { eval: true }),
  );
  for (let n = 1; n <= runs && runTests(n, runs); n += 1);
  await Promise.all(load.map((worker) => worker.terminate()));
}

/** @param {number} n @param {number} runs */
function runTests(n, runs) {
  const seed = Date.now() % 1_000_000;
  const started = Date.now();
  const order = ['--sequence.shuffle.files', '--sequence.shuffle.tests', `--sequence.seed=${seed}`];
  const { status, stdout } = spawnSync(
    'npx',
    ['vitest', 'run', `--project=${values.project}`, '--reporter=dot', ...order, ...positionals],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  const seconds = Math.round((Date.now() - started) / 1000);
  const outcome = status === 0 ? 'passed' : 'FAILED';
  process.stdout.write(`${outcome}  ${seconds} s  ${n} of ${runs}, seed ${seed}\n`);
  if (status === 0) return true;
  process.stdout.write(stdout.slice(Math.max(0, stdout.indexOf('Failed '))));
  process.exitCode = 1;
  return false;
}
