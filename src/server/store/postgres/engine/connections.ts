import pg from 'pg';
import { SvcError } from '../../../../base/svc-error.ts';
import { PostgresError } from './errors.ts';
import { type Sql, type SqlValue, sql } from './sql.ts';

export interface ConnectionOptions {
  /** As libpq writes it, `sslmode` and `sslrootcert` included. A secret. */
  url: string;
  /** Connections at most. */
  poolMax: number;
  /** Behind a pooler that gives each transaction another session: no named statements, nothing to listen on. */
  pooler: boolean;
}

/** A statement may take so long, in ms; the server ends it, and the client does soon after. */
const STATEMENT_MS = 15_000;
const LOCK_MS = 5_000;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;

/** A place where statements run: one after the other on one connection, or each on its own. */
export interface Queries {
  rows<Row extends object>(statement: Sql, values?: readonly SqlValue[]): Promise<Row[]>;
  /** The first row, if there is one. */
  first<Row extends object>(statement: Sql, values?: readonly SqlValue[]): Promise<Row | undefined>;
  /** How many rows it wrote. */
  run(statement: Sql, values?: readonly SqlValue[]): Promise<number>;
}

export interface Connections {
  /** Runs `work` on a connection of its own, which is thrown away where it was lost. Rejects with `PostgresError`. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** A session of its own beside the pool, to listen on. Throws where the URL names a certificate that is not there. */
  listener(): pg.Client;
  /** Finishes what is under way. */
  close(): Promise<void>;
}

export interface Connection extends Queries {
  /** Several statements without values, in one round trip; the client waits as long as for any, or `patienceMs`. */
  execute(text: string, patienceMs?: number): Promise<void>;
}

/** In one round trip, and local to the transaction: a pooler keeps no settings of a session. */
export function begin(mode: 'READ WRITE' | 'READ ONLY'): string {
  const level = mode === 'READ ONLY' ? 'REPEATABLE READ' : 'READ COMMITTED';
  return `BEGIN ISOLATION LEVEL ${level} ${mode};
    SET LOCAL statement_timeout = ${STATEMENT_MS};
    SET LOCAL lock_timeout = ${LOCK_MS};
    SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_MS}`;
}

/** node-postgres leaves the socket open where it gives up itself, for want of a password say: nothing would end. */
class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.connection.once('error', () => this.connection.stream.destroy());
  }
}

export function openConnections(options: ConnectionOptions): Connections {
  const config = {
    connectionString: options.url,
    application_name: 'svc-server',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS + LOCK_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: IDLE_MS,
    types: { getTypeParser },
    // For statements that are a transaction each; a pooler would refuse them, or set them for others.
    ...(!options.pooler && { statement_timeout: STATEMENT_MS, lock_timeout: LOCK_MS }),
  } satisfies pg.ClientConfig;
  const pool = new pg.Pool({
    ...config,
    Client,
    max: options.poolMax,
    idleTimeoutMillis: IDLE_MS,
  });
  // Of a connection that nobody uses; the next one who does gets another.
  pool.on('error', () => {});

  const underWay = new Set<Promise<unknown>>();

  async function connect(): Promise<pg.PoolClient> {
    try {
      // Also throws at once: each connection reads the certificates that the URL names.
      return await pool.connect();
    } catch (error) {
      throw new PostgresError(error);
    }
  }

  async function use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await connect();
    // The error of the query under way says it; without a listener it would end the process.
    const ignore = () => {};
    client.on('error', ignore);
    let isLost = false;
    const onFault = ({ kind }: PostgresError) => {
      isLost ||= kind === 'lost';
    };
    try {
      return await work(connectionOf(client, { named: !options.pooler, onFault }));
    } finally {
      client.off('error', ignore);
      client.release(isLost);
    }
  }

  return {
    async use(work) {
      const using = use(work);
      underWay.add(using);
      try {
        return await using;
      } finally {
        underWay.delete(using);
      }
    },
    listener: () => new Client(config),
    async close() {
      // A pool that has ended forgets those who wait for a connection.
      await Promise.allSettled(underWay);
      await pool.end();
    },
  };
}

function connectionOf(
  client: pg.ClientBase,
  { named, onFault }: { named: boolean; onFault: (fault: PostgresError) => void },
): Connection {
  async function query(config: pg.QueryConfig & { query_timeout?: number }) {
    try {
      return await client.query(config);
    } catch (error) {
      const fault = new PostgresError(error);
      onFault(fault);
      throw fault;
    }
  }
  const ask = ({ text, name, patienceMs }: Sql, values: readonly SqlValue[]) =>
    query({
      text,
      values: values.map(toWire),
      ...(named ? { name } : {}),
      ...waiting(patienceMs),
    });
  return {
    rows: async (statement, values = []) => (await ask(statement, values)).rows,
    first: async (statement, values = []) => (await ask(statement, values)).rows[0],
    run: async (statement, values = []) => (await ask(statement, values)).rowCount ?? 0,
    execute: async (text, patienceMs) => {
      await query({ text, ...waiting(patienceMs) });
    },
  };
}

function waiting(patienceMs: number | undefined): { query_timeout?: number } {
  return patienceMs === undefined ? {} : { query_timeout: patienceMs };
}

/** Of node-postgres, arrays become array literals; bigints are not its own in them. */
function toWire(value: SqlValue): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (!isList(value)) return value;
  return value.map((item) => (typeof item === 'bigint' ? item.toString() : item));
}

function isList(value: SqlValue): value is Extract<SqlValue, readonly unknown[]> {
  return Array.isArray(value);
}

/** Every bigint of the schema fits a number: instants, counts, block numbers. Others come as node-postgres has them. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8
    ? (text: string) => toSafeNumber(text)
    : pg.types.getTypeParser(oid, format);

function toSafeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('An integer of the database is too large');
  return value;
}

const readEncoding = sql(`SELECT current_setting('server_encoding') AS encoding`);

/**
 * Robots and accounts write in any language: another encoding would refuse some of what they send, again and again.
 *
 * @throws SvcError `database_unusable`.
 */
export async function requireUtf8(connections: Connections): Promise<void> {
  const row = await connections.use((connection) =>
    connection.first<{ encoding: string }>(readEncoding),
  );
  if (row?.encoding === 'UTF8') return;
  throw new SvcError(
    'database_unusable',
    `The PostgreSQL database has the encoding ${row?.encoding}, and it must be UTF8.`,
    { hint: `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0 makes one that has it.` },
  );
}
