import { readingsOf } from '../../core/day-names.ts';
import type { TelemetryStore } from '../../core/telemetry-store.ts';
import type { Access } from './access.ts';
import { gather } from './gather.ts';
import { readRollups } from './roll-ups.ts';
import { recordGroup, type SampleRequest, type SampleRow, toSample } from './sample-group.ts';
import { sql } from './sql.ts';

/** A group is short: its robots are locked as long, and nothing that it computes at once takes long. */
const REQUESTS_AT_ONCE = 64;
const SAMPLES_AT_ONCE = 2_000;
const CHARACTERS_AT_ONCE = 1_000_000;

/** No id is less. */
const NIL = '00000000-0000-0000-0000-000000000000';

const readPage = sql(`SELECT samples.* FROM robots
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
    doTogether: (requests: readonly SampleRequest[]) =>
      access.write((tx) => recordGroup(tx, requests)),
    startGroup: sampleGroup,
  });

  return {
    async recordSamples(request) {
      const readings = request.samples.map((sample) => ({
        recordedAt: sample.recordedAt,
        readings: readingsOf(sample),
      }));
      return record({ ...request, readings });
    },

    async listSamples({ wallet, robotId }, { from, to }, { limit, before }) {
      const end = before !== null && before.recordedAt < to ? before : { recordedAt: to, id: NIL };
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

/** Another request of a robot would only wait for the first. */
function sampleGroup(): (request: SampleRequest) => boolean {
  const robots = new Set<string>();
  let samples = 0;
  let characters = 0;
  return (request) => {
    if (robots.size === REQUESTS_AT_ONCE || robots.has(request.robotId)) return false;
    const more = request.samples.reduce((sum, { metrics }) => sum + metrics.length, 0);
    const fits =
      samples + request.samples.length <= SAMPLES_AT_ONCE &&
      characters + more <= CHARACTERS_AT_ONCE;
    if (!fits && robots.size > 0) return false;
    robots.add(request.robotId);
    samples += request.samples.length;
    characters += more;
    return true;
  };
}
