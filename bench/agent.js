/**
 * The agent: how many samples a second it makes durable, what memory it takes when it idles, and how it delivers a day
 * without a network. Prints a table; fails when a goal is missed.
 *
 *   --seconds N  of ingest (default 20)
 *   --minutes N  of delivery, instead of until all is delivered
 */
import { parseArgs } from 'node:util';
import { measureDrain } from './agent/drain.js';
import { measureIngest } from './agent/ingest.js';
import { sized } from './quick.js';
import { report } from './report.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('20', '1') },
    minutes: { type: 'string', default: sized(undefined, '0.02') },
  },
});

const ingest = await measureIngest(Number(values.seconds));
const drain = await measureDrain(values.minutes === undefined ? null : Number(values.minutes));

report([
  ['ingest, durable samples per second', ingest.perSecond, '>=', 15_000],
  ['samples per second of its processor time', ingest.perCpuSecond],
  ['SQLite by itself, rows per second', ingest.rawPerSecond],
  ['ratio', ingest.perSecond / ingest.rawPerSecond],
  ['event loop held in ingest, p99 (ms)', ingest.p99Ms],
  ['event loop held in ingest, longest (ms)', ingest.maxMs],
  ['memory in ingest (MB)', ingest.busyMb],
  ['memory at rest, 1 sample a second (MB)', drain.idleMb, '<=', 80],
  ['delivery, requests that were needed a minute', drain.perMinute],
  ['part of the limit of the service', drain.ofLimit, '>=', 0.9],
  ['newest sample behind, longest (s)', drain.behindSeconds, '<=', 5],
  ['highest memory in delivery, minus memory at rest (MB)', drain.mostMb - drain.idleMb, '<=', 20],
  ['delivery of a day offline, calls', drain.calls, '<=', 1_909],
  ['of these, calls about its 2 000 tasks', drain.taskCalls, '<=', 80],
  ['delivery took (s)', drain.seconds, '<=', 197],
  ['left at the end, requests', drain.left],
]);
