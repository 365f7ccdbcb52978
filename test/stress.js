// `npm run test:stress`: runs `npm test` five times beside a load on every core, the last three in random order.
// Ends with 1 at the first run that fails; its output is shown, and test-results/ has what the failed test did.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    random: { type: 'string', default: '3' },
  },
});
const runs = Number(values.runs);

const load = Array.from(
  { length: availableParallelism() },
  () => new Worker('for (;;);', { eval: true }),
);
for (let n = 1; n <= runs; n += 1) {
  const isRandom = n > runs - Number(values.random);
  const seed = Date.now() % 1_000_000;
  const order = isRandom ? ['--sequence.shuffle', `--sequence.seed=${seed}`] : [];
  runTests(`${n} of ${runs}${isRandom ? `, random order, seed ${seed}` : ''}`, order);
}
await Promise.all(load.map((worker) => worker.terminate()));

/**
 * @param {string} name
 * @param {string[]} options
 */
function runTests(name, options) {
  const started = Date.now();
  const { status, stdout } = spawnSync(
    'npm',
    ['test', '--ignore-scripts', '--', '--reporter=dot', ...options],
    { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  const seconds = Math.round((Date.now() - started) / 1000);
  process.stdout.write(`${status === 0 ? 'passed' : 'FAILED'}  ${seconds} s  ${name}\n`);
  if (status === 0) return;
  process.stdout.write(stdout);
  process.exit(1);
}
