// What `GET /api/v1/status` answers.
import { readFileSync } from 'node:fs';
import { packageVersion } from '../base/version.ts';
import type { Identity } from './signing/identity.ts';
import type { Total } from './spool/schema.ts';
import type { Spool } from './spool/spool.ts';
import type { Uploader } from './uploads/uploader.ts';

/** Body of `GET /api/v1/status`. `svc-agent status` prints it. */
export type AgentStatus = ReturnType<typeof readStatus>;

export type QueueStatus = ReturnType<typeof queueOf>;

/** `bytesWritten`: to the disk in the last hour; null where the kernel does not count it. */
export function readStatus(
  { spool, uploader, identity }: { spool: Spool; uploader: Uploader; identity: Identity },
  bytesWritten: number | null,
) {
  const upload = uploader.status();
  const { used, capacity } = spool.room();
  const queues = readQueues(spool);
  const calls =
    queues.claims.count +
    queues.completions.count +
    queues.events.count +
    queues.samples.count / 50;
  return {
    version: packageVersion(),
    /** Null until the service was reached once. */
    robot_id: spool.read(({ state }) => state.robotId()),
    ...upload,
    queues,
    signing: identity.status(),
    /** What the service promised about completions that wait for their anchors. */
    promises: spool.read(({ promises }) => promises.status()),
    /** Records that were set aside: the service refused them for good, or the agent a malformed sample. */
    refused: spool.read(({ totals }) => totals.of('refused').count),
    /** The newest completions that the service refused for good, newest first. Their proofs are not anchored. */
    set_aside: spool
      .read(({ settled }) => settled.setAside())
      .map(({ wall_ms, ...aside }) => ({ ...aside, accepted_at: new Date(wall_ms).toISOString() })),
    spool: {
      /** Includes the damaged file. */
      bytes_on_disk: spool.bytesOnDisk(),
      bytes_used: used,
      bytes_allowed: capacity,
      /** Code of the error that keeps the spool from being written or from growing; null without one. */
      failure: codeOf(spool.failure) ?? (spool.isDiskFull ? 'disk_full' : null),
      /** The damaged file that was set aside last. It is removed when its space is needed. */
      damaged_file: spool.damaged?.file ?? null,
      bytes_written_last_hour: bytesWritten,
    },
    /** Estimated seconds until the backlog is delivered at the allowed rate; null while disconnected. */
    drain_seconds: upload.connected
      ? Math.ceil((calls * 60) / upload.calls_per_minute_allowed)
      : null,
  };
}

function readQueues(spool: Spool) {
  return spool.read(({ totals, tasks, samples, events }) => {
    const oldest = tasks.oldestMs();
    const { uncommitted } = spool;
    return {
      claims: queueOf(totals.of('queued_claims'), oldest.claim),
      completions: queueOf(totals.of('completions'), oldest.completion),
      samples: queueOf(totals.of('samples'), samples.oldestMs(), uncommitted.samples),
      events: queueOf(totals.of('events'), events.oldestMs(), uncommitted.events),
    };
  });
}

/** `bytes`: of the records' JSON text. `oldest`: wall time at which the oldest was accepted; null without records. */
function queueOf({ count, bytes }: Total, oldest: number | null, uncommitted = 0) {
  const oldest_at = oldest === null ? null : new Date(oldest).toISOString();
  return { count: count + uncommitted, bytes, oldest_at };
}

function codeOf(failure: unknown): string | null {
  if (failure === null || failure === undefined) return null;
  return String((failure as { code?: unknown }).code ?? 'unknown');
}

const SAMPLE_MS = 60_000;
const HOUR_MS = 60 * 60_000;

/**
 * Counts the bytes that this process wrote to the disk in the last hour, by the kernel's counter, which it
 * reads once a minute. Null where the kernel has none. The timer does not keep the process alive.
 */
export function watchDiskWrites(): { lastHour(): number | null; stop(): void } {
  const looks: { at: number; bytes: number }[] = [];
  const look = () => {
    const bytes = writtenBytes();
    if (bytes === null) return;
    looks.push({ at: performance.now(), bytes });
    while ((looks[1]?.at ?? Number.POSITIVE_INFINITY) < performance.now() - HOUR_MS) looks.shift();
  };
  look();
  const timer = setInterval(look, SAMPLE_MS).unref();
  return {
    lastHour() {
      const [first, now] = [looks[0], writtenBytes()];
      return first === undefined || now === null ? null : now - first.bytes;
    },
    stop: () => clearInterval(timer),
  };
}

function writtenBytes(): number | null {
  try {
    const text = readFileSync('/proc/self/io', 'utf8');
    return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? Number.NaN) || 0;
  } catch {
    return null;
  }
}
