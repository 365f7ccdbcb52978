// Builds the PostgreSQL store: connects, migrates, starts the engine and combines the stores of all nouns.

import { randomUUID } from 'node:crypto';
import { singleFlight } from '../../../base/async/single-flight.ts';
import { Triggers } from '../../../base/async/triggers.ts';
import { limits } from '../../../protocol/limits.ts';
import { storageUnavailable } from '../../ports/errors.ts';
import { LEAD_MS, type Store } from '../../ports/store.ts';
import type { StorageLimits } from '../../rules/storage.ts';
import { waits } from '../anchoring/waits.ts';
import { combineStores } from '../combine-stores.ts';
import { NOW, sql } from '../db/sql.ts';
import { StorageUsage, UNLIMITED } from '../storage-usage.ts';
import { ChangeFeed } from '../stream.ts';
import { anyQueued, queueStore } from './anchor-queue.ts';
import { claimStore } from './claims.ts';
import { completionStore } from './completions.ts';
import { checkDatabase, readUsageErrors } from './engine/check.ts';
import type { ConnectionOptions, Connections } from './engine/connections.ts';
import { postgresDb } from './engine/database.ts';
import { cannotUse } from './engine/errors.ts';
import { migrate, requireKnown, requireSchema, type SchemaRow } from './engine/migrate.ts';
import { startNotifications } from './engine/notifications.ts';
import { type OnPartitions, startPartitions } from './engine/partitions.ts';
import { openSchema } from './engine/schema.ts';
import { type Access, accessTo, type OnCommit } from './engine/transactions.ts';
import { migrations } from './migrations.ts';
import { withSharedReads } from './reads.ts';
import { sampleRetention } from './retention.ts';
import { robotAuthentication } from './robots.ts';
import { challengeStore } from './sign-in.ts';
import { telemetryStore } from './telemetry.ts';

export interface PostgresStoreOptions extends ConnectionOptions {
  /** True for a server, which migrates and listens. False for a command that runs next to a server. */
  serves: boolean;
  /** See `Access.instant`. Default: the database's clock. */
  instant?: Access['instant'];
  /**
   * Called once, with `schema_too_new`, when `probe` finds that a newer version made the schema incompatible. The store
   * refuses everything from then on; the process should end.
   */
  onFatal?: ((error: Error) => void) | undefined;
  /** Called after each commit. `seconds` includes the work in it. */
  onCommit?: OnCommit | undefined;
  onPartitions?: OnPartitions | undefined;
  /** The limit on open challenges. Default: the protocol's limit. */
  maxChallenges?: number;
  /** Quotas. Default: none. */
  storage?: StorageLimits;
}

/**
 * Opens the store in one PostgreSQL database, version 15 or later, which any number of instances share.
 *
 * @throws SvcError `database_unusable`, `database_foreign`, `schema_too_new` or `schema_too_old`.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const connections = await openSchema(options);
  try {
    if (options.serves) await migrate(connections, migrations);
    else await requireSchema(connections, migrations.length);
  } catch (error) {
    await connections.close();
    throw cannotUse(error);
  }
  let closed: Promise<void> | undefined;
  let outdated = false;
  const whileOpen: Connections = {
    ...connections,
    async use(work) {
      if (closed !== undefined) throw storageUnavailable('The database is closed.');
      if (outdated)
        throw storageUnavailable('A newer version of svc-server has changed the schema.');
      return connections.use(work);
    },
  };
  const access = accessTo(whileOpen, {
    instant: options.instant ?? (() => null),
    ...(options.onCommit && { onCommit: options.onCommit }),
  });
  const triggers = new Triggers();
  const feed = new ChangeFeed();
  const notifications = startNotifications(connections, {
    triggers,
    feed,
    listen: options.serves && !options.pooler,
  });
  const partitions = options.serves
    ? await startPartitions(access, options.onPartitions ?? (() => {}))
    : null;
  const { maxChallenges = limits.openChallenges } = options;
  const { tell: wake, presence } = notifications;
  const db = postgresDb(access, { wake, presence });
  // The disk is the database server's. When it is full, every write is refused.
  const hasRoom = async () => true;
  const source = { readErrors: () => readUsageErrors(access), hasRoom };
  const usage = new StorageUsage(db, source, options.storage ?? UNLIMITED);

  async function close(): Promise<void> {
    await partitions?.stop();
    feed.flush();
    await notifications.close();
    await connections.close();
    triggers.wakeAll();
  }

  async function probe(): Promise<void> {
    const schema = await db.write((tx) =>
      tx.get<SchemaRow>(sql`UPDATE svc_schema SET version = version RETURNING version, works_from`),
    );
    if (schema === null) throw storageUnavailable('The database has no schema version.');
    try {
      requireKnown(schema, migrations.length);
    } catch (error) {
      if (!outdated) options.onFatal?.(error as Error);
      outdated = true;
      throw storageUnavailable('A newer version of svc-server has changed the schema.', error);
    }
  }

  const holder = randomUUID();
  const store = combineStores(
    db,
    { usage, feed },
    {
      ...challengeStore(db, { maxChallenges }),
      ...robotAuthentication(db),
      ...claimStore(db, usage),
      ...telemetryStore(db, usage),
      ...sampleRetention(access, db),
      ...completionStore(db, usage),
      ...queueStore(db),
      ...waits(db, triggers, () => anyQueued(db)),
      async lead() {
        const held = await db.alone.run(sql`INSERT INTO relay_lease AS l (id, holder, expires_at)
          VALUES (1, ${holder}, ${NOW} + ${LEAD_MS})
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
          WHERE l.holder = excluded.holder OR l.expires_at <= ${NOW}`);
        return held > 0;
      },
      hasRoom,
      checkInvariants: () => checkDatabase(access),
      // All probes write the same row. Single flight keeps concurrent probes from occupying the connections.
      probe: singleFlight(probe),
      close: () => {
        // The counts are on their way to the database before later calls are refused.
        closed ??= usage.close().then(close);
        return closed;
      },
    },
  );
  return withSharedReads(db, store);
}

/**
 * Migrates the database, as a start does; instances of the previous version may be running. Returns the schema's
 * version.
 *
 * @throws SvcError `database_unusable`, `schema_too_new`, `database_foreign`.
 */
export async function migratePostgres(options: ConnectionOptions): Promise<number> {
  const connections = await openSchema(options);
  try {
    return await migrate(connections, migrations);
  } catch (error) {
    throw cannotUse(error);
  } finally {
    await connections.close();
  }
}
