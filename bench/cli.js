/**
 * Start-up of `svc` against that of Node.js itself, by turns in one run: `svc --version` within 1.25 times `node -e 0`,
 * `svc robots --help` within 1.35 times, `svc robots list` within 2.8 times plus what its requests take alone. Prints
 * medians and ratios; fails when one is above its limit.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sized } from './quick.js';

const ROUNDS = sized(32, 1);
const bin = (name) => fileURLToPath(new URL(`../bin/${name}`, import.meta.url));
const svc = (...args) => [bin('svc.cjs'), ...args];

const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
const env = { PATH: process.env.PATH, SVC_CONFIG_DIR: path.join(folder, 'config') };

/** Runs Node.js with the arguments, and answers the milliseconds it took. */
function time(args) {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - started;
}

async function timeRequests(url, session) {
  const headers = { cookie: `svc_session=${session}` };
  const read = async (list) => (await fetch(`${url}/api/v1/${list}?limit=200`, { headers })).json();
  const started = performance.now();
  await Promise.all([read('robots'), read('fleets')]);
  return performance.now() - started;
}

function median(times) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

const server = spawn(
  process.execPath,
  [bin('svc-server.js'), 'dev', '--json', '--port', '0', '--data-dir', path.join(folder, 'data')],
  { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH } },
);
try {
  const [line] = await once(createInterface({ input: server.stdout }), 'line');
  const { url } = JSON.parse(line);
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  time(svc('login', url, '--key-file', keyFile));
  for (let i = 0; i < 20; i += 1) time(svc('robots', 'create', `robot ${i}`));
  const config = JSON.parse(await readFile(path.join(folder, 'config', 'config.json'), 'utf8'));
  const { session } = config.profiles[config.current];

  const runs = {
    'node -e 0': ['-e', '0'],
    'svc --version': svc('--version'),
    'svc robots --help': svc('robots', '--help'),
    'svc robots list': svc('robots', 'list'),
  };
  const times = Object.fromEntries(Object.keys(runs).map((name) => [name, []]));
  const requests = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each begins a round in its turn: a busy machine favours the first.
    const order = Object.entries(runs);
    order.unshift(...order.splice(round % order.length));
    for (const [name, args] of order) times[name].push(time(args));
    requests.push(await timeRequests(url, session));
  }

  const base = median(times['node -e 0']);
  const request = median(requests);
  const limits = {
    'svc --version': 1.25,
    'svc robots --help': 1.35,
    'svc robots list': 2.8 + request / base,
  };
  print(`${'node -e 0'.padEnd(18)} ${base.toFixed(1).padStart(6)} ms`);
  print(`${'its requests'.padEnd(18)} ${request.toFixed(1).padStart(6)} ms`);
  for (const [name, limit] of Object.entries(limits)) {
    const ms = median(times[name]);
    const ratio = ms / base;
    const figures = `${ms.toFixed(1).padStart(6)} ms  ratio ${ratio.toFixed(2)}`;
    print(`${name.padEnd(18)} ${figures}, at most ${limit.toFixed(2)}`);
    if (ratio > limit) process.exitCode = sized(1, 0);
  }
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  await rm(folder, { recursive: true, force: true });
}
