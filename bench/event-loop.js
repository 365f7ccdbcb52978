// Loaded before a server or an agent (node --import): measures how long its event loop is held, and answers what the
// bench asks over the channel between the two processes.
import { openSync, readSync } from 'node:fs';
import { createHistogram } from 'node:perf_hooks';

const TICK_MS = 1;
const NS_PER_MS = 1e6;

const schedule = openSchedule();
// One buffer for all reads: readFileSync would allocate 64 KiB a millisecond, for which V8 collects the whole heap.
const text = Buffer.alloc(64);

function openSchedule() {
  try {
    return openSync('/proc/self/schedstat');
  } catch {
    return null;
  }
}

/** How long the main thread was ready and had no processor, in ns; 0 where the system does not say. */
function readyWithoutProcessor() {
  if (schedule === null) return 0;
  return Number(text.latin1Slice(0, readSync(schedule, text, 0, text.length, 0)).split(' ')[1]);
}

const rounds = createHistogram({ figures: 3 });
let startedCpu = process.cpuUsage();
let last = performance.now();
let lastReady = readyWithoutProcessor();

/** One round of the loop: all that ran between two timers, less what other processes took of it. */
function tick() {
  const now = performance.now();
  const ready = readyWithoutProcessor();
  const heldNs = (now - last - TICK_MS) * NS_PER_MS - (ready - lastReady);
  rounds.record(Math.max(1, Math.round(heldNs)));
  last = now;
  lastReady = ready;
}
setInterval(tick, TICK_MS).unref();

process.on('message', (question) => {
  if (question === 'reset') {
    rounds.reset();
    startedCpu = process.cpuUsage();
    last = performance.now();
    lastReady = readyWithoutProcessor();
    process.send?.('reset');
    return;
  }
  const { user, system } = process.cpuUsage(startedCpu);
  process.send?.({
    p99Ms: rounds.percentile(99) / NS_PER_MS,
    maxMs: rounds.max / NS_PER_MS,
    cpuMs: (user + system) / 1000,
  });
});
process.channel?.unref();
