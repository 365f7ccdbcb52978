// What the agent remembers across restarts: its robot, its boots, and what it dropped and has not reported yet.
import type { Database } from 'better-sqlite3';
import type { Instant } from '../clock.ts';
import type { Dropped } from './limits.ts';

/** Every method runs inside the caller's transaction. */
export class AgentState {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      epoch: db.prepare<[number], number>('SELECT epoch_ms FROM boots WHERE boot = ?').pluck(),
      keepEpoch: db.prepare(
        `INSERT INTO boots (boot, epoch_ms) VALUES (@boot, @epochMs)
           ON CONFLICT (boot) DO UPDATE SET epoch_ms = @epochMs WHERE epoch_ms IS NULL`,
      ),
      noteBoot: db.prepare(
        'INSERT OR IGNORE INTO boots (boot, wall_ms, mono_ms) VALUES (@boot, @wallMs, @monoMs)',
      ),
      withoutEpoch: db.prepare<[], Instant>(
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

  /** The service's time in milliseconds when the monotonic clock of that boot was 0; null while it is unknown. */
  epochOf(boot: number): number | null {
    return this.#sql.epoch.get(boot) ?? null;
  }

  /** Keeps the epoch of a boot that has none. */
  keepEpoch(boot: number, epochMs: number): void {
    this.#sql.keepEpoch.run({ boot, epochMs });
  }

  /** Keeps the clocks at the agent's first start of a boot; later starts change nothing. */
  noteBoot(now: Instant): void {
    this.#sql.noteBoot.run(now);
  }

  /** Boots whose epoch is unknown, newest first, each with the clocks at the agent's first start. */
  bootsWithoutEpoch(): Instant[] {
    return this.#sql.withoutEpoch.all();
  }

  /** The clocks at the newest sample of the boot; null without samples. */
  lastSampleOf(boot: number): Instant | null {
    return this.#sql.lastSample.get(boot) ?? null;
  }

  /** The service's time when the agent last identified itself; null before the first time. */
  lastContactMs(): number | null {
    const text = this.#sql.recall.get('last_contact_ms');
    return text === undefined ? null : Number(text);
  }

  keepLastContact(ms: number): void {
    this.#sql.remember.run('last_contact_ms', String(ms));
  }

  /** The robot whose records these are; null before the service first accepted its key. */
  robotId(): string | null {
    return this.#sql.recall.get('robot_id') ?? null;
  }

  keepRobotId(id: string): void {
    this.#sql.remember.run('robot_id', id);
  }

  /** Adds to the drops of the next report. */
  noteDropped(dropped: Dropped): void {
    this.#sql.remember.run('dropped', JSON.stringify(sumOf(this.dropped(), dropped)));
  }

  /** Drops that are not reported yet; null without any. */
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
