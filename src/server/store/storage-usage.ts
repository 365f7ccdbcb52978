// Counts in memory what each account stores, decides by quota, and saves the counts.

import type { StorageStore } from '../ports/account.ts';
import { FUNDED_MS, mayStore, poolShare, ROW_BYTES, type StorageLimits } from '../rules/storage.ts';
import type { Db, Tx } from './db/database.ts';
import { elements, onPostgres } from './db/dialect.ts';
import { type Sql, sql, type Value } from './db/sql.ts';

/** The counts are saved, and usage is read again, this long after the first change. */
const SAVE_AFTER_MS = 5_000;
/** Accounts without a recent grant are refused while the disk has less than this multiple of its minimum room. */
const UNFUNDED_ROOM = 2;

/** For commands and tests. */
export const UNLIMITED: StorageLimits = {
  poolBytes: Number.MAX_SAFE_INTEGER,
  accountBytes: Number.MAX_SAFE_INTEGER,
};

/** What a database does for `StorageUsage`. */
interface UsageSource {
  /** The differences between what is stored and what is saved, without zeros. */
  readErrors(): Promise<UsageError[]>;
  hasRoom(times: number): Promise<boolean>;
}

interface AccountUsage {
  bytes: number;
  isFunded: boolean | 0 | 1;
}

/** Saved usage at one time. Accounts are read when they first write. */
interface Reading {
  pool: Promise<number>;
  accounts: Map<string, Promise<AccountUsage>>;
}

/** Bytes by account, and in the pool. */
class Count {
  readonly accounts = new Map<string, number>();
  pool = 0;

  add(wallet: string, bytes: number, inPool: boolean): void {
    const sum = (this.accounts.get(wallet) ?? 0) + bytes;
    if (sum === 0) this.accounts.delete(wallet);
    else this.accounts.set(wallet, sum);
    if (inPool) this.pool += bytes;
  }
}

export class StorageUsage {
  readonly #db: Db;
  readonly #source: UsageSource;
  readonly #limits: StorageLimits;
  readonly #held = new Count();
  #stored = new Count();
  #reading: Reading | null = null;
  /** The accounts of the reading that have no recent grant. */
  #unfunded = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;

  constructor(db: Db, source: UsageSource, limits: StorageLimits) {
    this.#db = db;
    this.#source = source;
    this.#limits = limits;
  }

  /** Counts a row that is stored. */
  add(wallet: string, bytes: number): void {
    this.#stored.add(wallet, bytes, this.#unfunded.has(wallet));
    this.#saveSoon();
  }

  async take(wallet: string, bytes: number, now: number): ReturnType<StorageStore['takeStorage']> {
    const since = now - FUNDED_MS;
    const reading = this.#read(since);
    const { bytes: saved, isFunded } = await this.#accountOf(reading, wallet, since);
    // In this order: the second reading may be newer, and a full disk must not be reported as a full quota.
    const hasShare = isFunded || (await this.#source.hasRoom(UNFUNDED_ROOM));
    if (!(await this.#source.hasRoom(1))) return { outcome: 'disk_full' };
    if (!hasShare) return { outcome: 'storage_quota' };
    const pool = await reading.pool;
    // A save has moved counts from memory to the database since this reading.
    if (this.#reading !== reading) return this.take(wallet, bytes, now);
    const inMemory = [this.#stored, this.#held];
    const situation = {
      isFunded: Boolean(isFunded),
      account: inMemory.reduce((sum, { accounts }) => sum + (accounts.get(wallet) ?? 0), saved),
      pool: inMemory.reduce((sum, count) => sum + count.pool, pool),
    };
    if (!mayStore(situation, bytes, this.#limits)) return { outcome: 'storage_quota' };
    this.#held.add(wallet, bytes, !isFunded);
    return { outcome: 'taken', release: () => this.#held.add(wallet, -bytes, !isFunded) };
  }

  /** Saves the counts now. If that fails, they are kept and saved later. */
  save(): Promise<void> {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async recount(): ReturnType<StorageStore['recountStorage']> {
    await this.save();
    const errors = await this.#source.readErrors();
    await this.#add(errors.map(({ wallet, bytes }) => [wallet, bytes]));
    this.#reading = null;
    const bytes = errors.reduce((sum, error) => sum + Math.abs(error.bytes), 0);
    return { accounts: errors.length, bytes };
  }

  async close(): Promise<void> {
    await this.save();
    clearTimeout(this.#timer);
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const saved = new Map(this.#stored.accounts);
    try {
      await this.#add([...saved]);
    } catch {
      this.#saveSoon();
      return;
    }
    const rest = new Count();
    for (const [wallet, bytes] of this.#stored.accounts) {
      rest.add(wallet, bytes - (saved.get(wallet) ?? 0), this.#unfunded.has(wallet));
    }
    this.#stored = rest;
    this.#unfunded = new Set();
    this.#reading = null;
  }

  #saveSoon(): void {
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS).unref();
  }

  #read(fundedSince: number): Reading {
    if (this.#reading !== null) return this.#reading;
    const share = poolShare(this.#limits);
    // The sum over all accounts that no operator's grant has funded since, each up to its share.
    const pool = this.#db
      .one<{ bytes: number }>(sql`
        SELECT CAST(coalesce(sum(CASE WHEN bytes < ${share} THEN bytes ELSE ${share} END), 0)
          AS bigint) AS bytes
        FROM storage_usage u WHERE NOT ${isFundedSince(fundedSince, sql`u.wallet`)}`)
      .then(({ bytes }) => bytes);
    const reading = { pool, accounts: new Map() };
    this.#reading = reading;
    this.#forgetFailed(pool, reading);
    // Other instances store, and retention deletes.
    this.#saveSoon();
    return reading;
  }

  async #accountOf(reading: Reading, wallet: string, fundedSince: number): Promise<AccountUsage> {
    let account = reading.accounts.get(wallet);
    if (account === undefined) {
      account = this.#db.one<AccountUsage>(sql`
        SELECT coalesce((SELECT bytes FROM storage_usage WHERE wallet = ${wallet}), 0) AS bytes,
          ${isFundedSince(fundedSince, wallet)} AS "isFunded"`);
      reading.accounts.set(wallet, account);
      this.#forgetFailed(account, reading);
    }
    const usage = await account;
    if (!usage.isFunded && reading === this.#reading) this.#unfunded.add(wallet);
    return usage;
  }

  async #add(bytes: [wallet: string, bytes: number][]): Promise<void> {
    if (bytes.length > 0) await this.#db.run(addition(bytes));
  }

  #forgetFailed(read: Promise<unknown>, reading: Reading): void {
    read.catch(() => {
      if (this.#reading === reading) this.#reading = null;
    });
  }
}

/** Adds bytes to the usage of accounts. Locks them in the order of their wallets. */
function addition(bytes: readonly [wallet: string, bytes: number][]): Sql {
  return sql`INSERT INTO storage_usage (wallet, bytes)
    SELECT g.value ->> 0, CAST(g.value ->> 1 AS bigint) FROM ${elements(bytes)} AS g
    WHERE true ORDER BY 1
    ON CONFLICT (wallet) DO UPDATE SET bytes = storage_usage.bytes + excluded.bytes`;
}

/** The bytes of a row in SQL, as `rowBytes` counts them. Both databases understand them. */
const texts = {
  tasks: ['title', 'description', 'expected_result'],
  proofs: ['sealed'],
  telemetry: ['metrics'],
  events: ['message', 'payload'],
  robot_keys: ['public_key', 'grant_text', 'grant_signature'],
  statements: ['statement'],
};

export function bytesIn(table: keyof typeof texts, row: string): string {
  const sizes = texts[table].map((column) => `coalesce(octet_length(${row}.${column}), 0)`);
  return [ROW_BYTES, ...sizes].join(' + ');
}

/** The account of a row with a robot, which may be deleted. */
export function walletOf(robotId: string): string {
  return `coalesce((SELECT wallet FROM robots WHERE id = ${robotId}),
    (SELECT wallet FROM robot_traces WHERE robot_id = ${robotId}))`;
}

/** By table, what a deletion returns: the account of each deleted row and its bytes. */
export const freed = {
  tasks: `wallet, ${bytesIn('tasks', 'tasks')} AS bytes`,
  proofs: `(SELECT wallet FROM tasks WHERE id = proofs.task_id) AS wallet, ${bytesIn('proofs', 'proofs')} AS bytes`,
  telemetry: `${walletOf('telemetry.robot_id')} AS wallet, ${bytesIn('telemetry', 'telemetry')} AS bytes`,
  events: `${walletOf('events.robot_id')} AS wallet, ${bytesIn('events', 'events')} AS bytes`,
};

/** The account of a deleted row, if it is known, and its bytes. */
export interface Freed {
  wallet: string | null;
  bytes: number;
}

/** Runs a deletion of rows that count in the usage of their accounts. It returns what `freed` names; this returns the number of rows. */
export async function freeing(tx: Tx, deletion: Sql): Promise<number> {
  const deleted = await tx.all<Freed>(deletion);
  await subtractUsage(tx, deleted);
  return deleted.length;
}

/** Subtracts deleted rows from the usage of their accounts. SQLite has triggers for it. */
export async function subtractUsage(tx: Tx, deleted: readonly Freed[]): Promise<void> {
  const changes = new Map<string, number>();
  for (const { wallet, bytes } of deleted) {
    if (wallet !== null) changes.set(wallet, (changes.get(wallet) ?? 0) - bytes);
  }
  if (changes.size > 0) await tx.run(onPostgres(addition([...changes])));
}

const ofRobots = (table: 'telemetry' | 'events') =>
  `SELECT ${walletOf('of_robots.robot_id')}, bytes FROM (
     SELECT robot_id, sum(${bytesIn(table, 'x')}) AS bytes FROM ${table} x GROUP BY robot_id) AS of_robots`;

/** Stored bytes that the saved usage lacks. */
export interface UsageError {
  wallet: string;
  bytes: number;
}

/** Selects each `UsageError`. */
export const usageErrors = `SELECT wallet, sum(bytes) AS bytes FROM (
    SELECT wallet, ${bytesIn('tasks', 'tasks')} AS bytes FROM tasks
    UNION ALL SELECT tasks.wallet, ${bytesIn('proofs', 'proofs')} FROM proofs
      JOIN tasks ON tasks.id = proofs.task_id
    UNION ALL SELECT robots.wallet, ${bytesIn('robot_keys', 'k')} FROM robot_keys k
      JOIN robots ON robots.id = k.robot_id
    UNION ALL SELECT robots.wallet, ${bytesIn('statements', 's')} FROM statements s
      JOIN robots ON robots.id = s.robot_id
    UNION ALL ${ofRobots('telemetry')}
    UNION ALL ${ofRobots('events')}
    UNION ALL SELECT wallet, -bytes FROM storage_usage
  ) AS counted WHERE wallet IS NOT NULL GROUP BY wallet HAVING sum(bytes) <> 0`;

/** The condition that an operator's grant after `time` funds the account. Sign-up grants do not. */
export function isFundedSince(time: Value | Sql, wallet: Value | Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM ledger g WHERE g.wallet = ${wallet} AND g.kind = 'grant'
    AND g.grant_id NOT LIKE 'signup:%' AND g.at > ${time})`;
}
