// `npm run test:stress`: runs `npm test` five times beside a load on every core, then three times in random order.
// Ends with 1 at the first run that fails; its output is shown, and test-results/ has what the failed test did.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

const { values } = parseArgs({
  options: {
    loaded: { type: 'string', default: '5' },
    random: { type: 'string', default: '3' },
  },
});

const load = Array.from(
  { length: Number(values.loaded) > 0 ? availableParallelism() : 0 },
  () => new Worker('for (;;);', { eval: true }),
);
for (let n = 1; n <= Number(values.loaded); n += 1) runTests(`beside a load, ${n}`, []);
await Promise.all(load.map((worker) => worker.terminate()));

for (let n = 1; n <= Number(values.random); n += 1) {
  const seed = Date.now() % 1_000_000;
  runTests(`random order, seed ${seed}`, ['--sequence.shuffle', `--sequence.seed=${seed}`]);
}

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
