import type { Database } from 'better-sqlite3';
import type { Instant } from '../clock.ts';
import type { Dropped } from './limits.ts';
import type { SpoolRecord } from './records.ts';
import { REFUSED_KEPT, type Refusal, type RefusedRecord } from './settled.ts';

/** What is set aside, and what the agent remembers of itself. Every method runs inside the caller's transaction. */
export class LedgerTables {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      refuse: db.prepare(
        'INSERT INTO refused (kind, id, code, message, wall_ms, body) VALUES (@kind, @id, @code, @message, @wallMs, @body)',
      ),
      trim: db.prepare(
        `DELETE FROM refused WHERE kind IN ('sample', 'event') AND seq <= (SELECT max(seq) FROM refused) - ${REFUSED_KEPT}`,
      ),
      refused: db.prepare<[number, number], RefusedRecord>(
        `SELECT seq, kind, id, code, message, wall_ms AS wallMs, body FROM refused
           WHERE seq > ? ORDER BY seq LIMIT ?`,
      ),
      epoch: db.prepare<[number], number>('SELECT epoch_ms FROM boots WHERE boot = ?').pluck(),
      keepEpoch: db.prepare(
        `INSERT INTO boots (boot, epoch_ms) VALUES (@boot, @epochMs)
           ON CONFLICT (boot) DO UPDATE SET epoch_ms = @epochMs WHERE epoch_ms IS NULL`,
      ),
      noteBoot: db.prepare(
        'INSERT OR IGNORE INTO boots (boot, wall_ms, mono_ms) VALUES (@boot, @wallMs, @monoMs)',
      ),
      unsettled: db.prepare<[], Instant>(
        `SELECT boot, wall_ms AS wallMs, mono_ms AS monoMs FROM boots
           WHERE epoch_ms IS NULL ORDER BY seq DESC`,
      ),
      lastSample: db.prepare<[number], Instant>(
        `SELECT boot, wall_ms AS wallMs, mono_ms AS monoMs FROM samples
           WHERE boot = ? ORDER BY seq DESC LIMIT 1`,
      ),
      recall: db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck(),
      remember: db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)'),
      forget: db.prepare('DELETE FROM meta WHERE name = ?'),
    };
  }

  refuse(record: SpoolRecord, { code, message }: Refusal): void {
    this.#sql.refuse.run({ ...record, code, message });
    this.#sql.trim.run();
  }

  /** Oldest first, those that follow `after`. */
  refused(most: number, after = 0): RefusedRecord[] {
    return this.#sql.refused.all(after, most);
  }

  /** What the service's clock said when the monotonic clock of that boot was 0; null while that is unknown. */
  epochOf(boot: number): number | null {
    return this.#sql.epoch.get(boot) ?? null;
  }

  /** The first one of a boot stays. */
  keepEpoch(boot: number, epochMs: number): void {
    this.#sql.keepEpoch.run({ boot, epochMs });
  }

  /** What the clocks say at the agent's start; the first one of a boot stays. */
  noteBoot(now: Instant): void {
    this.#sql.noteBoot.run(now);
  }

  /** Boots whose epoch is not known, the newest first, each with what its clocks said at the first start. */
  unsettledBoots(): Instant[] {
    return this.#sql.unsettled.all();
  }

  /** What the clocks said at the newest sample of the boot; null without samples. */
  lastSampleOf(boot: number): Instant | null {
    return this.#sql.lastSample.get(boot) ?? null;
  }

  /** The service's time when it was last asked who the robot is; null before. */
  lastContactMs(): number | null {
    const text = this.#sql.recall.get('last_contact_ms');
    return text === undefined ? null : Number(text);
  }

  keepLastContact(ms: number): void {
    this.#sql.remember.run('last_contact_ms', String(ms));
  }

  /** The robot whose records these are; null before its key was first accepted. */
  robotId(): string | null {
    return this.#sql.recall.get('robot_id') ?? null;
  }

  keepRobotId(id: string): void {
    this.#sql.remember.run('robot_id', id);
  }

  /** Adds to what the next report will say. */
  noteDropped(dropped: Dropped): void {
    this.#sql.remember.run('dropped', JSON.stringify(sumOf(this.dropped(), dropped)));
  }

  /** What was dropped and not reported yet. */
  dropped(): Dropped | null {
    const text = this.#sql.recall.get('dropped');
    return text === undefined ? null : JSON.parse(text);
  }

  forgetDropped(): void {
    this.#sql.forget.run('dropped');
  }
}

function sumOf(before: Dropped | null, more: Dropped): Dropped {
  if (before === null) return more;
  return {
    count: before.count + more.count,
    fromMs: Math.min(before.fromMs, more.fromMs),
    toMs: Math.max(before.toMs, more.toMs),
  };
}
