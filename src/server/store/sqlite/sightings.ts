import type { Database } from 'better-sqlite3';

/** Notes that a robot was heard of; the time never goes back. */
export function sightings(writer: Database): (robotId: string, now: number) => void {
  const update = writer.prepare<{ robotId: string; now: number }>(
    `UPDATE robots SET last_seen_at = :now
     WHERE id = :robotId AND (last_seen_at IS NULL OR last_seen_at < :now)`,
  );
  return (robotId, now) => {
    update.run({ robotId, now });
  };
}
