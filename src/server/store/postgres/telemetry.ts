import type { NewSamples, TelemetryStore } from '../../core/telemetry-store.ts';
import type { Access } from './access.ts';
import { gather } from './gather.ts';
import { readRollups } from './roll-ups.ts';
import { recordGroup, type SampleRow, toSample } from './sample-group.ts';
import { NO_UUID, plannedAnew } from './sql.ts';

/** While the database has one group, this process prepares another. */
const GROUPS_AT_ONCE = 2;
/** A group is short: its robots are locked as long, and nothing that it computes at once takes long. */
const REQUESTS_AT_ONCE = 64;
const SAMPLES_AT_ONCE = 2_000;
const CHARACTERS_AT_ONCE = 1_000_000;

const readPage = plannedAnew(`SELECT samples.* FROM robots
  LEFT JOIN LATERAL (
    SELECT recorded_at, id, battery_pct, state, metrics FROM telemetry
    WHERE robot_id = $1 AND recorded_at >= $3 AND recorded_at <= $4
      AND (recorded_at, id) < ($4, $5::uuid)
    ORDER BY recorded_at DESC, id DESC LIMIT $6
  ) AS samples ON true
  WHERE robots.id = $1 AND robots.wallet = $2
  ORDER BY samples.recorded_at DESC, samples.id DESC`);

type PageRow = Omit<SampleRow, 'robot_id'>;

/** What robots send goes in one transaction with what others send meanwhile. */
export function telemetryStore(access: Access): TelemetryStore {
  const record = gather({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ robotId }: NewSamples) => robotId,
    startGroup: sampleGroup,
    doTogether: (requests) => access.write((tx) => recordGroup(tx, requests)),
  });

  return {
    recordSamples: record,

    async listSamples({ wallet, robotId }, { from, to }, { limit, before }) {
      const end =
        before !== null && before.recordedAt < to ? before : { recordedAt: to, id: NO_UUID };
      // Of a robot without any in the range, one row of nulls.
      const rows = await access.rows<PageRow | Record<keyof PageRow, null>>(readPage, [
        robotId,
        wallet,
        from,
        end.recordedAt,
        end.id,
        limit,
      ]);
      if (rows.length === 0) return null;
      return rows.filter((row): row is PageRow => row.id !== null).map(toSample);
    },

    listRollups: (robot, resolution, range, limit) =>
      readRollups(access, robot, resolution, range, limit),
  };
}

function sampleGroup(): (request: NewSamples) => boolean {
  let requests = 0;
  let samples = 0;
  let characters = 0;
  return (request) => {
    const more = request.samples.reduce((sum, { metrics }) => sum + metrics.length, 0);
    const hasRoom =
      requests < REQUESTS_AT_ONCE &&
      samples + request.samples.length <= SAMPLES_AT_ONCE &&
      characters + more <= CHARACTERS_AT_ONCE;
    if (!hasRoom && requests > 0) return false;
    requests += 1;
    samples += request.samples.length;
    characters += more;
    return true;
  };
}
