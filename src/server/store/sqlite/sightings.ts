import type { Database } from 'better-sqlite3';

/** Notes that a robot was heard of; the time never goes back. */
export function sightings(writer: Database): (robotId: string, now: number) => void {
  const update = writer.prepare<[number, string, number]>(
    `UPDATE robots SET last_seen_at = ?
     WHERE id = ? AND (last_seen_at IS NULL OR last_seen_at < ?)`,
  );
  return (robotId, now) => {
    update.run(now, robotId, now);
  };
}
