import type { Database } from 'better-sqlite3';

/** A row that is written at each call of a busy robot is most of what a commit writes. */
const EVERY_MS = 1000;

/** Notes that a robot was heard of, to the second; the time never goes back. */
export function sightings(writer: Database): (robotId: string, now: number) => void {
  const update = writer.prepare<[number, string, number]>(
    `UPDATE robots SET last_seen_at = ?
     WHERE id = ? AND (last_seen_at IS NULL OR last_seen_at < ?)`,
  );
  return (robotId, now) => {
    update.run(now, robotId, now - EVERY_MS);
  };
}
