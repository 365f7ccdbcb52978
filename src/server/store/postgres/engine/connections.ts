// Pools PostgreSQL connections, and defines and runs statements on them.

import { createHash } from 'node:crypto';
import pg from 'pg';
import { PostgresError } from './errors.ts';

/** A statement for the driver. */
export interface Statement {
  /** The text, with `$1`, `$2` … for values. */
  readonly text: string;
  /** The name under which a connection keeps the plan; empty if it keeps none. */
  readonly name: string;
  /** True if it changes rows. A lock alone does not. */
  readonly writes: boolean;
  /** The client's timeout for this statement, in ms. Default: that of the connection. */
  readonly patienceMs?: number;
}

const WRITES = /\b(INSERT INTO|DELETE FROM|(?<!FOR (NO KEY )?)UPDATE)\b/;

/**
 * Defines a statement, named by the hash of its text. `isPage`: PostgreSQL plans it for its values at each call. The best
 * plan of a page depends on length and position, and a generic plan assumes that a page is a tenth of all rows.
 */
export function sql(text: string, isPage = false): Statement {
  const hash = createHash('sha256').update(text).digest('hex');
  return { text, writes: WRITES.test(text), name: isPage ? '' : `svc_${hash.slice(0, 16)}` };
}

type Scalar = string | number | boolean | null | Buffer;

/** A value of a statement. An array is one value, for `unnest`. */
export type SqlValue = Scalar | readonly Scalar[];

export interface ConnectionOptions {
  /** A libpq URL, `sslmode` and `sslrootcert` included. A secret. */
  url: string;
  /** The maximum number of connections. */
  poolMax: number;
  /** True behind a pooler in transaction mode: no named statements and no LISTEN. */
  pooler: boolean;
  /** How long a statement waits for a connection, in ms. Default: 5000. */
  connectMs?: number | undefined;
}

/** The timeout of a statement, in ms. The server enforces it; the client waits `LOCK_MS` longer. */
const STATEMENT_MS = 15_000;
const LOCK_MS = 5_000;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;

/** Runs statements: one after the other on one connection, or each on a connection of its own. */
export interface Queries {
  rows<Row extends object>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>;
  /** Returns the number of rows written. */
  run(statement: Statement, values?: readonly SqlValue[]): Promise<number>;
}

export type Connections = ReturnType<typeof openConnections>;

export interface Connection extends Queries {
  /** Follows `BEGIN`, in the same round trip. */
  readonly ownSettings: string;
  /** Runs statements without values in one round trip. `patienceMs` replaces the client's default timeout. */
  execute(text: string, patienceMs?: number): Promise<void>;
}

/** Settings that results depend on, whatever database, role or pooler set. */
const OWN_SETTINGS = {
  extra_float_digits: '1',
  TimeZone: 'UTC',
  DateStyle: 'ISO,MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
};

/** Makes a commit wait for the disk. A database may make it wait for more, for example for a replica. */
const RAISE_COMMIT = `SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')`;

/** Begins a transaction in one round trip. Its settings are local, because a pooler keeps no session settings. */
export function begin(mode: 'READ WRITE' | 'READ ONLY', ownSettings: string): string {
  const level = mode === 'READ ONLY' ? 'REPEATABLE READ' : 'READ COMMITTED';
  return `BEGIN ISOLATION LEVEL ${level} ${mode};
    SET LOCAL statement_timeout = ${STATEMENT_MS};
    SET LOCAL lock_timeout = ${LOCK_MS};
    SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_MS};
    ${ownSettings}`;
}

/**
 * Every client of this process. PostgreSQL can end a session at any moment, also between the answer that makes it usable
 * and its first use. An error that no listener hears would end the process; the next query rejects with it.
 */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => {});
    // node-postgres leaves the socket open when it gives up (no password, for example), so the process would not end.
    this.connection.once('error', () => this.connection.stream.destroy());
  }
}

/** Connections to one schema; without it, to the schema that database, role and address say. */
export function openConnections(options: ConnectionOptions, schema?: string) {
  const path = schema && pg.escapeIdentifier(schema);
  const ownSettings = [
    `SET LOCAL search_path TO ${path ?? 'DEFAULT'}`,
    ...Object.entries(OWN_SETTINGS).map(([name, value]) => `SET LOCAL ${name} = '${value}'`),
    RAISE_COMMIT,
  ].join('; ');
  // A pooler would refuse settings at the start of a session, or apply them to other clients. Options of the URL replace ours.
  const hasOwnSessions = !options.pooler && !/[?&]options=/.test(options.url);
  const config = {
    connectionString: options.url,
    application_name: 'svc-server',
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    query_timeout: STATEMENT_MS + LOCK_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: IDLE_MS,
    types: { getTypeParser },
    // `alone` sends a transaction in one round trip.
    pipeline: true,
    // For statements outside of transactions.
    ...(!options.pooler && { statement_timeout: STATEMENT_MS, lock_timeout: LOCK_MS }),
    ...(hasOwnSessions && {
      // The last one counts.
      options: Object.entries({ ...OWN_SETTINGS, ...(path && { search_path: path }) }).reduce(
        (text, [name, value]) => `${text} -c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`,
        process.env.PGOPTIONS ?? '',
      ),
    }),
  } satisfies pg.ClientConfig;
  const pool = new pg.Pool({
    ...config,
    Client,
    max: options.poolMax,
    idleTimeoutMillis: IDLE_MS,
  });
  // Errors of idle connections: the pool replaces the connection.
  pool.on('error', () => {});

  const underWay = new Set<Promise<unknown>>();

  async function connect(): Promise<pg.PoolClient> {
    try {
      // It can also throw synchronously: each connection reads the certificates that the URL names.
      return await pool.connect();
    } catch (error) {
      throw new PostgresError(error);
    }
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await connect();
    let isLost = false;
    const onError = ({ kind }: PostgresError) => {
      isLost ||= kind === 'lost';
    };
    try {
      return await work(connectionOf(client, ownSettings, { named: !options.pooler, onError }));
    } finally {
      client.release(isLost);
    }
  }

  return {
    /** Runs `work` on a connection, and discards the connection if it was lost. Rejects with `PostgresError`. */
    use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
      const using = use(work).finally(() => underWay.delete(using));
      underWay.add(using);
      return using;
    },
    /** What a statement of its own needs before it, as `begin`; `null` if it needs no transaction. */
    beginAlone(writes: boolean): string | null {
      if (!hasOwnSessions) return begin('READ WRITE', ownSettings);
      return writes ? `BEGIN; ${RAISE_COMMIT}` : null;
    },
    /** A session outside of the pool, for LISTEN. Throws if the URL names a certificate that does not exist. */
    listener: (): pg.Client => new Client(config),
    /** Waits for running work, then closes all connections. */
    async close() {
      // An ended pool would never answer callers that wait for a connection.
      await Promise.allSettled(underWay);
      await pool.end();
    },
  };
}

function connectionOf(
  client: pg.ClientBase,
  ownSettings: string,
  { named, onError }: { named: boolean; onError: (error: PostgresError) => void },
): Connection {
  async function query(config: pg.QueryConfig & { query_timeout?: number }) {
    try {
      return await client.query(config);
    } catch (cause) {
      const error = new PostgresError(cause);
      onError(error);
      throw error;
    }
  }
  const ask = ({ text, name, patienceMs }: Statement, values: readonly SqlValue[]) =>
    query({
      text,
      values: [...values],
      ...(named ? { name } : {}),
      ...waiting(patienceMs),
    });
  return {
    ownSettings,
    rows: async (statement, values = []) => (await ask(statement, values)).rows,
    run: async (statement, values = []) => (await ask(statement, values)).rowCount ?? 0,
    execute: async (text, patienceMs) => {
      await query({ text, ...waiting(patienceMs) });
    },
  };
}

function waiting(patienceMs: number | undefined): { query_timeout?: number } {
  return patienceMs === undefined ? {} : { query_timeout: patienceMs };
}

/** Parses bigint columns as numbers: instants, counts and block numbers all fit. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8
    ? (text: string) => toSafeNumber(text)
    : pg.types.getTypeParser(oid, format);

function toSafeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('An integer in the database exceeds 2^53 - 1');
  return value;
}
