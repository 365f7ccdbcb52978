// svc-server with a fault: kills itself, as `kill -9` would, when it reaches the fault point CRASH_AT for the
// CRASH_COUNT-th time. With CRASH_SIGNAL=SIGSTOP it stops there until it gets SIGCONT. LEASE_TTL_MS is the duration of
// its lease. It reads its environment as one line of JSON from standard input, so that a process can be prepared before
// it is needed, and ends when standard input ends. It prints one JSON document per line: `url` once it listens,
// `passed` when it reaches a point for the first time, `killed` before it dies.
//
// A fault point is a step of the anchorer, a call of the store (`commitAttempt:before`, and `:after` once it is
// durable) or of a node (`eth_chainId:before` it is sent, `:after` it was answered).
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createLogger } from '../../dist/base/logger.js';
import { readConfig } from '../../dist/server/config.js';
import { quickPauses } from './quick-pauses.js';

// The bundle of svc-server loads in a third of the time that its modules take; it has no types of its own.
const bundle = '../../dist/programs/main.js';
/** @type {typeof import('../../dist/server/main.js')} */
const { startServer } = await import(bundle);

process.stdin.once('end', () => process.exit(1));
const [line] = await once(createInterface({ input: process.stdin }), 'line');
process.stdin.unref();
const {
  CRASH_AT,
  CRASH_COUNT,
  CRASH_SIGNAL = 'SIGKILL',
  LEASE_TTL_MS,
  ...environment
} = JSON.parse(line);

let countdown = Number(CRASH_COUNT ?? 1);
/** @type {Set<string>} */
const passed = new Set();

/** @param {Record<string, string>} news */
function tell(news) {
  writeSync(1, `${JSON.stringify(news)}\n`);
}

/** @param {string} point */
function pass(point) {
  if (!passed.has(point)) tell({ passed: point });
  passed.add(point);
  if (point !== CRASH_AT || --countdown > 0) return;
  tell({ killed: point });
  process.kill(process.pid, CRASH_SIGNAL);
}

/** @param {import('../../src/server/ports/store.ts').Store} store */
function betweenCalls(store) {
  const calls = Object.entries(store).map(([name, call]) => {
    /** @param {unknown[]} args */
    const passing = async (...args) => {
      pass(`${name}:before`);
      const answer = await call(...args);
      pass(`${name}:after`);
      return answer;
    };
    return [name, passing];
  });
  return Object.fromEntries(calls);
}

/** @param {'before' | 'after'} when */
function passRpc(when) {
  /** @param {unknown} message undici's, of diagnostics_channel */
  return (message) => {
    const { request } = /** @type {{ request: { body: unknown } }} */ (message);
    for (const [, method] of String(request.body).matchAll(/"method":"(eth_\w+)"/g)) {
      pass(`${method}:${when}`);
    }
  };
}

subscribe('undici:request:create', passRpc('before'));
subscribe('undici:request:trailers', passRpc('after'));
const config = readConfig(environment);
const server = await startServer(config, {
  logger: createLogger(config.values.SVC_LOG_LEVEL),
  onAnchorStep: pass,
  wrapStore: betweenCalls,
  anchoring: {
    pauses: quickPauses,
    // So that an anchor takes several commits, between which the process can end. That is slow with many proofs.
    ...(CRASH_AT && { leavesPerCommit: 2 }),
    ...(LEASE_TTL_MS && { leaseTtlMs: Number(LEASE_TTL_MS) }),
  },
});
tell({ url: server.url });
// Ends by itself once nothing is left open.
process.once('SIGTERM', () => server.close());
