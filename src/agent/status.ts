import { startSteps } from '../base/steps.ts';
import { packageVersion } from '../base/version.ts';
import type { Spool } from './spool/spool.ts';
import type { Uploader } from './uploader/uploader.ts';

/** Samples counted at once; others are served in between. */
const COUNTED_AT_ONCE = 20_000;

export interface LaneStatus {
  count: number;
  bytes: number;
  /** When the oldest was accepted, by the wall clock of then; null where there is none. */
  oldest_at: string | null;
}

/** What `GET /api/v1/status` answers; `svc-agent status` shows it. */
export interface AgentStatus extends ReturnType<Uploader['status']> {
  version: string;
  /** Null until the service was reached once. */
  robot_id: string | null;
  lanes: Record<'claims' | 'completions' | 'samples' | 'events', LaneStatus>;
  /** Records that the service will never take. */
  refused: number;
  spool: {
    bytes_on_disk: number;
    bytes_used: number;
    bytes_allowed: number;
    /** Code of what keeps it from being written now; null when all is well. */
    failure: string | null;
    /** Null where the kernel does not count it. */
    bytes_written_last_hour: number | null;
  };
  /** Seconds until the backlog is delivered at the pace allowed; null while disconnected. */
  drain_seconds: number | null;
}

export async function readStatus(
  spool: Spool,
  uploader: Uploader,
  bytesWritten: number | null,
): Promise<AgentStatus> {
  const upload = uploader.status();
  const { used, capacity } = spool.room();
  const lanes = await readLanes(spool, used);
  const calls =
    lanes.claims.count + lanes.completions.count + lanes.events.count + lanes.samples.count / 50;
  return {
    version: packageVersion(),
    robot_id: spool.read(({ ledger }) => ledger.robotId()),
    ...upload,
    lanes,
    refused: spool.read(({ ledger }) => ledger.countRefused()),
    spool: {
      bytes_on_disk: spool.bytesOnDisk(),
      bytes_used: used,
      bytes_allowed: capacity,
      failure: codeOf(spool.failure),
      bytes_written_last_hour: bytesWritten,
    },
    drain_seconds: upload.connected
      ? Math.ceil((calls * 60) / upload.calls_per_minute_allowed)
      : null,
  };
}

async function readLanes(spool: Spool, used: number): Promise<AgentStatus['lanes']> {
  const tasks = spool.read((tables) => tables.tasks.summary());
  const events = laneOf(spool.read((tables) => tables.events.summary()));
  events.count += spool.uncommitted.event;
  const claims = laneOf(tasks.find(({ table }) => table === 'claims'));
  const completions = laneOf(tasks.find(({ table }) => table === 'completions'));
  const count = (await countSamples(spool)) + spool.uncommitted.sample;
  const oldest = spool.read(({ samples }) => samples.oldestMs());
  const others = claims.bytes + completions.bytes + events.bytes;
  const bytes = count === 0 ? 0 : Math.max(0, used - others);
  return { claims, completions, samples: { ...laneOf({ count, bytes, oldest }) }, events };
}

async function countSamples(spool: Spool): Promise<number> {
  const ends = spool.read(({ samples }) => samples.ends());
  const step = startSteps();
  let count = 0;
  for (let from = ends?.first ?? 0; ends && from <= ends.last; from += COUNTED_AT_ONCE) {
    const first = from;
    count += spool.read(({ samples }) => samples.count(first, first + COUNTED_AT_ONCE - 1));
    await step();
  }
  return count;
}

interface Summary {
  count: number;
  bytes: number | null;
  oldest: number | null;
}

function laneOf({ count, bytes, oldest }: Summary = { count: 0, bytes: 0, oldest: null }) {
  const oldest_at = oldest === null ? null : new Date(oldest).toISOString();
  return { count, bytes: bytes ?? 0, oldest_at };
}

function codeOf(failure: unknown): string | null {
  if (failure === null || failure === undefined) return null;
  return String((failure as { code?: unknown }).code ?? 'unknown');
}
