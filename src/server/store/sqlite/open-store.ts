// Builds the SQLite store: opens the file, starts the engine and combines the stores of all nouns.

import type { Database } from 'better-sqlite3';
import { Triggers } from '../../../base/async/triggers.ts';
import type { Clock } from '../../../base/clock.ts';
import { sqliteErrorKind } from '../../../base/sqlite.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Store } from '../../ports/store.ts';
import type { StorageLimits } from '../../rules/storage.ts';
import { waits } from '../anchoring/waits.ts';
import { combineStores } from '../combine-stores.ts';
import { NO_ID } from '../db/rows.ts';
import { raw, sql } from '../db/sql.ts';
import { deleteOldOfNext } from '../retention.ts';
import { StorageUsage, UNLIMITED, type UsageError, usageErrors } from '../storage-usage.ts';
import { ChangeFeed } from '../stream.ts';
import { anyQueued, queueStore } from './anchor-queue.ts';
import { claimStore } from './claims.ts';
import { completionStore } from './completions.ts';
import { checkDatabase } from './engine/check.ts';
import { Checkpoints } from './engine/checkpoints.ts';
import {
  canonicalPath,
  endLeases,
  lockDatabase,
  openReader,
  openWriter,
  prepareToServe,
  requireDatabase,
  unusable,
  usable,
} from './engine/connections.ts';
import { sqliteDb } from './engine/database.ts';
import { type LogFile, openLogFile, watchDisk } from './engine/disk.ts';
import {
  areReplaced,
  identityOf,
  type OpenedFile,
  recordIdentity,
  refuseForeignLog,
} from './engine/file-identity.ts';
import { GroupCommit, type GroupCommitOptions } from './engine/group-commit.ts';
import { startLogPurge } from './engine/log-purge.ts';
import { migrate, requireSchema } from './engine/migrate.ts';
import { RateCounters } from './engine/rate-counters.ts';
import { readSnapshot } from './engine/read-snapshot.ts';
import { readsOf } from './engine/reads.ts';
import { finishRestore, isRestoreUnfinished, refuseUnfinishedRestore } from './files/backup.ts';
import { refuseExported } from './files/export.ts';
import { migrations } from './migrations.ts';
import { robotAuthentication } from './robots.ts';
import { challengeStore } from './sign-in.ts';
import { telemetryStore } from './telemetry.ts';

export interface SqliteStoreOptions {
  path: string;
  clock: Clock;
  /**
   * True for the server: it locks the database, creates and migrates it. False for a command that runs next to a live
   * server: no lock, no migration, no saved rate counters.
   */
  serves: boolean;
  /** Called once, when disk or file can no longer be trusted; the process should end. */
  onFatal: (error: Error) => void;
  /** Called with a sentence for the log. */
  onWarning?: (message: string) => void;
  onCommit?: GroupCommitOptions['onCommit'];
  /** `hasRoom` answers false below this many free bytes. Default: 0. */
  minFreeBytes?: number;
  /** Quotas. Default: none. */
  storage?: StorageLimits;
  /** Reads the free bytes on the disk of a folder. Tests replace it. */
  freeBytes?: (folder: string) => Promise<number>;
  /** Which file a path names. Tests replace it. */
  identify?: typeof identityOf;
  /** The limit on open challenges. Default: the protocol's limit. */
  maxChallenges?: number;
}

/**
 * Opens the store in one SQLite file.
 *
 * @throws SvcError `database_locked`, `database_missing`, `database_foreign`, `database_unusable`,
 *   `schema_too_new`, `schema_too_old`, `restore_unfinished` or `log_foreign`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = canonicalPath(options.path, { create: options.serves });
  const opened: (() => void)[] = [];
  const release = () => {
    for (const close of opened.splice(0).reverse()) close();
  };
  try {
    if (options.serves) {
      opened.push(lockDatabase(path).release);
      finishRestore(path);
      refuseForeignLog(path);
    } else {
      refuseUnfinishedRestore(path);
      requireDatabase(path);
    }
    const writer = openWriter(path);
    opened.push(() => writer.close());
    if (options.serves) {
      migrate({ db: writer, migrations, now: options.clock.now() });
      endLeases(writer);
      recordIdentity(writer);
    } else {
      requireSchema(writer, migrations);
    }
    refuseExported(writer);
    prepareToServe(writer);
    const reader = openReader(path);
    opened.push(() => reader.close());
    const { identify = identityOf } = options;
    const files = [options.path, `${path}-wal`].map((file) => [file, identify(file)] as const);
    const logFile = openLogFile(writer);
    opened.push(() => logFile.close());
    return buildStore(options, { writer, reader, logFile, files, release });
  } catch (error) {
    release();
    throw sqliteErrorKind(error) === null ? error : unusable(path, error);
  }
}

/**
 * Migrates an existing database, as a start does, and finishes an interrupted restore. Returns the schema's version.
 *
 * @throws SvcError `database_missing`, `database_locked` while a server runs, `schema_too_new`,
 *   `database_foreign`.
 */
export function migrateDatabase(path: string, now: number): number {
  const existing = canonicalPath(path, { create: false });
  if (!isRestoreUnfinished(existing)) requireDatabase(existing);
  const lock = lockDatabase(existing);
  try {
    finishRestore(existing);
    const db = usable(existing, () => openWriter(existing));
    try {
      migrate({ db, migrations, now });
      openLogFile(db).close();
      return migrations.length;
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

interface Opened {
  writer: Database;
  reader: Database;
  logFile: LogFile;
  files: readonly OpenedFile[];
  /** Closes all of them. */
  release: () => void;
}

function buildStore(
  options: SqliteStoreOptions,
  { writer, reader, logFile, files, release }: Opened,
): Store {
  const { clock, serves, onFatal, maxChallenges = limits.openChallenges } = options;
  const hasRoom = watchDisk(writer.name, options.minFreeBytes ?? 0, options.freeBytes);
  const fatal = once((error) => {
    // Stop the purge: it would let reads see commits that were not flushed, and write back a log that is not trusted.
    log.stop();
    onFatal(error);
  });
  const watched = areReplaced(files, options.identify) ? [] : files;
  if (watched.length === 0) options.onWarning?.(UNSTABLE);
  // Next to a live server, the server's thread makes the checkpoints.
  const checkpoints = serves ? new Checkpoints(writer, watched, fatal) : null;
  const snapshot = readSnapshot(reader, fatal);
  const group = new GroupCommit({
    db: writer,
    log: logFile,
    snapshot,
    now: () => clock.now(),
    isReplaced() {
      if (!areReplaced(watched, options.identify)) return false;
      // Nothing may write to what the paths name now. While the reader is open, SQLite closes the writer and the thread's
      // connection without a checkpoint, and keeps the log.
      log.stop();
      void checkpoints?.stop();
      writer.close();
      options.onWarning?.(
        `${options.path} was replaced, moved or removed: refusing writes; save the old file before you stop this process (docs/operations.md#backups)`,
      );
      return true;
    },
    beforeGroup: () => checkpoints?.restart() ?? null,
    probeRoom: () => probeRoom(writer),
    onFatal: fatal,
    onCommit(commit) {
      checkpoints?.note();
      options.onCommit?.(commit);
    },
  });
  const log = startLogPurge({ writer, group, checkpoints, snapshot, onFatal: fatal });
  // A crash may have happened between the commit of an erasure and its purge.
  if (serves) void log.purge();
  const triggers = new Triggers();
  const db = sqliteDb({
    read: readsOf({ reader, clock, snapshot, onFatal: fatal }),
    write: (work) => group.write(work),
    log,
    triggers,
  });
  const counters = new RateCounters(clock);
  if (serves) counters.load(reader);
  const feed = new ChangeFeed();
  const source = {
    readErrors: () => db.all<UsageError>(raw(usageErrors)),
    hasRoom,
  };
  const usage = new StorageUsage(db, source, options.storage ?? UNLIMITED);

  async function close(): Promise<void> {
    // If this fails, the current window starts from zero, as after a crash. Closing must go on.
    const saved = serves ? group.write(() => counters.save(writer)).catch(() => {}) : null;
    await Promise.all([usage.close(), saved, group.drain()]);
    log.stop();
    await checkpoints?.stop();
    release();
    triggers.wakeAll();
  }
  let closed: Promise<void> | undefined;

  return combineStores(
    db,
    { usage, feed },
    {
      ...challengeStore(db, { counters, clock, maxChallenges }),
      ...robotAuthentication(db, counters),
      ...claimStore(db, usage),
      ...completionStore(db, usage),
      ...telemetryStore(db, usage),
      deleteSamples: (before, limit, cursor) => {
        const from = { place: cursor ?? NO_ID, before, upTo: Number.MAX_SAFE_INTEGER };
        return deleteOldOfNext(db, from, limit);
      },
      ...queueStore(db),
      ...waits(db, triggers, () => anyQueued(db)),
      // The lock on the file admits one server.
      lead: async () => true,
      hasRoom,
      checkInvariants: () => checkDatabase(reader.name),
      async probe() {
        await db.run(
          sql`INSERT INTO write_probe VALUES (1, x'') ON CONFLICT DO UPDATE SET filling = x''`,
        );
      },
      close: () => {
        closed ??= close();
        return closed;
      },
    },
  );
}

const UNSTABLE =
  'this file system identifies a file differently each time: not checking whether the database is replaced';

/** Checks that the disk has room: writes 256 KiB, which are free pages of the file afterwards. */
function probeRoom(writer: Database): void {
  writer.exec(`
    BEGIN IMMEDIATE;
    INSERT INTO write_probe VALUES (1, zeroblob(262144))
      ON CONFLICT DO UPDATE SET filling = excluded.filling;
    COMMIT;
    UPDATE write_probe SET filling = x'';
  `);
}

function once(onFatal: (error: Error) => void): (error: Error) => void {
  let called = false;
  return (error) => {
    if (called) return;
    called = true;
    onFatal(error);
  };
}
