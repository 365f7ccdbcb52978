import type { RetentionStore } from '../../core/telemetry-store.ts';
import type { Access } from './access.ts';

/** Robots looked at in one go for samples that are old enough. */
const ROBOTS_AT_ONCE = 100;

export function retentionStore(access: Access): RetentionStore {
  const { writer, write } = access;
  const oldestEvents = writer.prepare<[number], { seq: number; created_at: number }>(
    'SELECT seq, created_at FROM events WHERE seq > 0 ORDER BY seq LIMIT ?',
  );
  const deleteEventsTo = writer.prepare<[number]>('DELETE FROM events WHERE seq > 0 AND seq <= ?');

  return {
    deleteSamples: deleteOldSamples(access),

    deleteEvents: (before, limit) =>
      write(() => {
        const rows = oldestEvents.all(limit);
        const young = rows.findIndex(({ created_at }) => created_at >= before);
        const old = young === -1 ? rows : rows.slice(0, young);
        const last = old.at(-1);
        if (last !== undefined) deleteEventsTo.run(last.seq);
        return old.length === limit;
      }),

    deleteTraces: deleteTraces(access),
  };
}

function deleteOldSamples({
  reader,
  writer,
  read,
  write,
}: Access): RetentionStore['deleteSamples'] {
  // The first sample of the next robot is its oldest.
  const nextRobot = reader.prepare<[string], { robot_id: string; recorded_at: number }>(
    `SELECT robot_id, recorded_at FROM telemetry WHERE robot_id > ?
     ORDER BY robot_id, recorded_at LIMIT 1`,
  );
  const deleteSome = writer.prepare<[string, number, number]>(
    `DELETE FROM telemetry WHERE (robot_id, recorded_at, id) IN (
       SELECT robot_id, recorded_at, id FROM telemetry WHERE robot_id = ? AND recorded_at < ?
       ORDER BY recorded_at, id LIMIT ?)`,
  );
  /** The next robot with old samples; else how far it looked, or null at the end. */
  const look = (cursor: string, before: number) => {
    let place = cursor;
    for (let looked = 0; looked < ROBOTS_AT_ONCE; looked += 1) {
      const next = nextRobot.get(place);
      if (next === undefined) return null;
      if (next.recorded_at < before) return { robotId: next.robot_id, place };
      place = next.robot_id;
    }
    return { robotId: null, place };
  };
  return async (before, limit, cursor) => {
    const found = await read(() => look(cursor ?? '', before));
    if (found === null) return null;
    const { robotId, place } = found;
    if (robotId === null) return place;
    const deleted = await write(() => deleteSome.run(robotId, before, limit).changes);
    return deleted < limit ? robotId : place;
  };
}

function deleteTraces({ writer, write }: Access): RetentionStore['deleteTraces'] {
  const next = writer.prepare<[], { robot_id: string }>(
    `SELECT robot_id FROM robot_traces WHERE robot_id > '' ORDER BY robot_id LIMIT 1`,
  );
  const deletions = [
    `DELETE FROM telemetry WHERE (robot_id, recorded_at, id) IN (
       SELECT robot_id, recorded_at, id FROM telemetry WHERE robot_id = ? LIMIT ?)`,
    `DELETE FROM telemetry_rollups WHERE (robot_id, resolution, at) IN (
       SELECT robot_id, resolution, at FROM telemetry_rollups WHERE robot_id = ? LIMIT ?)`,
    `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE robot_id = ? LIMIT ?)`,
  ].map((sql) => writer.prepare<[string, number]>(sql));
  const forget = writer.prepare<[string]>('DELETE FROM robot_traces WHERE robot_id = ?');
  return (limit) =>
    write(() => {
      const robot = next.get();
      if (robot === undefined) return false;
      for (const deletion of deletions) {
        if (deletion.run(robot.robot_id, limit).changes > 0) return true;
      }
      forget.run(robot.robot_id);
      return true;
    });
}
