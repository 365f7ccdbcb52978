/**
 * Anchoring under load: a chain with a block each second and a server, each in a process of its own, and robots that
 * submit proofs over HTTP, several at once, and wait for their receipts. First in batches, then with one transaction
 * for each proof; then through the batch route, also on a chain with a block every 12 seconds. Prints them next to each
 * other, and how long one large batch holds the event loop when nothing else is asked; fails when a goal is missed.
 *
 *   --seconds N    measured in each mode, after the warm-up (default 60)
 *   --robots N     (default 500)
 *   --in-flight N  calls of each robot under way at once (default 4)
 *   --profile DIR  also writes a CPU profile of the server there
 */
import { parseArgs } from 'node:util';
import { readAnchors } from './anchor/anchors.js';
import { BATCH_ITEMS, claimTasks, runRobots } from './anchor/load.js';
import { measureOneBatch } from './anchor/one-batch.js';
import { sized } from './quick.js';
import { openSite } from './site.js';

const WARM_UP_SLOTS = sized(5, 1);
const GOALS = { perSecond: 1000, p50Seconds: 1.8, p99Seconds: 3, heldMs: 20 };
/** Of the chain with a block every 12 seconds. */
const SLOW = { blockTime: sized(12, 2), perSecond: 2500, p99Seconds: 2.2 * 12 };

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('60', '1') },
    robots: { type: 'string', default: sized('500', '20') },
    'in-flight': { type: 'string', default: '4' },
    profile: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const robotCount = Number(values.robots);
const inFlight = Number(values['in-flight']);

/** More a second than a mode can anchor, so that no robot runs out of tasks. */
const modes = {
  batches: { mostPerSecond: 4000, environment: {} },
  singles: {
    mostPerSecond: 128,
    // As many in flight as there may be: with the default of four it would be four a second.
    environment: { SVC_ANCHOR_BATCH_MAX: '1', SVC_ANCHOR_MAX_IN_FLIGHT: '64' },
  },
  // As many as wait for two or three blocks.
  route: { mostPerSecond: 6000, environment: {}, perCall: BATCH_ITEMS, calls: 1 },
  slow: {
    mostPerSecond: 6000,
    environment: {},
    perCall: BATCH_ITEMS,
    calls: 3,
    blockTime: SLOW.blockTime,
  },
};

async function measure(mode) {
  const { mostPerSecond, environment, perCall = 1, calls = inFlight, blockTime = 1 } = mode;
  const { profile } = values;
  const warmUpSeconds = WARM_UP_SLOTS * blockTime;
  const site = await openSite({
    blockTime,
    robots: robotCount,
    environment,
    profile,
    monitored: true,
  });
  try {
    const most = (mostPerSecond * (warmUpSeconds + seconds)) / robotCount + calls * perCall;
    const robots = await claimTasks(site, Math.ceil(most));
    const claimed = robots.reduce((sum, { tasks }) => sum + tasks.length, 0);
    let ownCpu = cpuMs();
    const run = await runRobots(robots, {
      url: site.url,
      inFlight: calls,
      perCall,
      warmUpSeconds,
      seconds,
      async begin() {
        await site.measure();
        ownCpu = cpuMs();
      },
      async end() {
        ownCpu = cpuMs() - ownCpu;
        return site.measured();
      },
    });
    const left = robots.reduce((sum, { tasks }) => sum + tasks.length, 0);
    const anchors = await readAnchors(site.rpcUrl);
    // Those answered in the warm-up and those still under way at the end are on the chain or may be.
    if (anchors.proofs < run.latenciesMs.length || anchors.proofs > claimed - left) {
      throw new Error(
        `${run.latenciesMs.length} receipts, ${claimed - left} proofs handed in, ${anchors.proofs} on the chain`,
      );
    }
    if (run.ranOut) throw new Error('A robot ran out of tasks');
    return figuresOf(run, anchors, ownCpu);
  } finally {
    await site.close();
  }
}

function figuresOf({ latenciesMs, seconds: measured, measured: server }, anchors, ownCpuMs) {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const count = sorted.length;
  const quantile = (part) => (sorted[Math.floor(part * (count - 1))] ?? Number.NaN) / 1000;
  return {
    perSecond: count / measured,
    p50Seconds: quantile(0.5),
    p99Seconds: quantile(0.99),
    slowestSeconds: quantile(1),
    proofsPerTransaction: anchors.proofs / anchors.transactions,
    gasPerProof: anchors.gas / anchors.proofs,
    serverCpuMs: server.cpuMs / count,
    robotsCpuMs: ownCpuMs / count,
    loopP99Ms: server.p99Ms,
    loopMaxMs: server.maxMs,
  };
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const labels = {
  perSecond: 'anchored per second',
  p50Seconds: 'request to receipt, p50 (s)',
  p99Seconds: 'request to receipt, p99 (s)',
  slowestSeconds: 'request to receipt, slowest (s)',
  proofsPerTransaction: 'proofs per transaction',
  gasPerProof: 'gas per proof',
  serverCpuMs: 'server, processor per proof (ms)',
  robotsCpuMs: 'robots, processor per proof (ms)',
  loopP99Ms: 'event loop held, p99 (ms)',
  loopMaxMs: 'event loop held, longest (ms)',
};

function printTable(first, other, names) {
  print(`${robotCount} robots, ${inFlight} in flight each`, ...names, 'ratio');
  for (const [name, label] of Object.entries(labels)) {
    const ratio = first[name] / other[name];
    print(label, first[name].toFixed(2), other[name].toFixed(2), ratio.toPrecision(3));
  }
}

function print(...cells) {
  const [label, ...figures] = cells;
  process.stdout.write(`${label.padEnd(34)}${figures.map((text) => text.padStart(12)).join('')}\n`);
}

const batches = await measure(modes.batches);
const singles = await measure(modes.singles);
printTable(batches, singles, ['batches', 'singles']);
const route = await measure(modes.route);
printTable(route, batches, ['batch route', 'single calls']);
const slow = await measure(modes.slow);
printTable(slow, route, ['12 s blocks', '1 s blocks']);
const { maxMs } = await measureOneBatch();
process.stdout.write(`one batch of 1024, event loop held, longest (ms): ${maxMs.toFixed(2)}\n`);
const missed = [
  batches.perSecond < GOALS.perSecond && 'anchored per second',
  batches.p50Seconds > GOALS.p50Seconds && 'p50',
  batches.p99Seconds > GOALS.p99Seconds && 'p99',
  maxMs > GOALS.heldMs && 'event loop held by one batch',
  slow.perSecond < SLOW.perSecond && 'anchored per second with 12 s blocks',
  slow.p99Seconds > SLOW.p99Seconds && 'p99 with 12 s blocks',
].filter(Boolean);
if (missed.length > 0) {
  process.stdout.write(`missed: ${missed.join(', ')}; see docs/performance.md\n`);
  process.exitCode = sized(1, 0);
}
