import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { type Pooler, throughPort } from './pooler.ts';

/** Sessions of the server for each database; each transaction gets the one that has rested for longest. */
const SESSIONS = 3;
/** What a client may set when it connects, as PgBouncer has it: sessions are everybody's. */
const KNOWN = ['user', 'database', 'client_encoding', 'application_name'];
const READY = 'Z'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
const IDLE = 'I';

/** A session of the server. */
interface Session {
  stream: Socket;
  /** What came of an answer that is not whole yet. */
  left: Buffer;
  /** Whose transaction it has. */
  client: Socket | null;
}

/**
 * A pooler in transaction mode for machines without PgBouncer: what a client prepares, sets or listens to outside of a
 * transaction it does not find again in the next one.
 * https://www.postgresql.org/docs/current/protocol-flow.html
 */
export async function startTransactionPooler(server: string): Promise<Pooler> {
  const pools = new Map<string, Promise<Pool>>();
  const poolOf = (database: string) => {
    const pool = pools.get(database) ?? openPool(server, database);
    pools.set(database, pool);
    return pool;
  };
  const clients = new Set<Socket>();
  const listener = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => {});
    serve(client, poolOf).catch(() => client.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  return {
    via: (url) => throughPort(url, port),
    async close() {
      for (const client of clients) client.destroy();
      listener.close();
      for (const pool of pools.values()) (await pool).close();
    },
  };
}

async function serve(client: Socket, poolOf: (database: string) => Promise<Pool>): Promise<void> {
  const parameters = await readStartup(client);
  if (parameters === null) return;
  const strange = [...parameters.keys()].find((name) => !KNOWN.includes(name));
  if (strange !== undefined) {
    const fields = `SFATAL\0C08P01\0Munsupported startup parameter: ${strange}\0\0`;
    client.end(message('E', Buffer.from(fields)));
    return;
  }
  const pool = await poolOf(parameters.get('database') ?? '');
  let session: Session | null = null;
  client.once('close', () => {
    // Its transaction ends with it.
    if (session?.client === client) session.stream.destroy();
  });
  client.write(Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from(IDLE))]));
  for await (const bytes of client as AsyncIterable<Buffer>) {
    if (bytes[0] === TERMINATE) break;
    if (session?.client !== client) session = await pool.take(client);
    session.stream.write(bytes);
  }
  client.destroy();
}

interface Pool {
  take(client: Socket): Promise<Session>;
  close(): void;
}

async function openPool(server: string, database: string): Promise<Pool> {
  const url = new URL(server);
  url.pathname = `/${database}`;
  const resting: Session[] = [];
  const waiting: ((session: Session) => void)[] = [];
  const all = new Set<Session>();
  const rest = (session: Session) => {
    session.client = null;
    const next = waiting.shift();
    if (next === undefined) resting.push(session);
    else next(session);
  };
  const openOne = async () => {
    const session = await openSession(url.href, rest);
    all.add(session);
    session.stream.once('close', () => {
      all.delete(session);
      session.client?.destroy();
      if (resting.includes(session)) resting.splice(resting.indexOf(session), 1);
    });
    return session;
  };
  return {
    async take(client) {
      if (resting.length === 0 && all.size < SESSIONS) rest(await openOne());
      const session =
        resting.shift() ?? (await new Promise<Session>((resolve) => waiting.push(resolve)));
      session.client = client;
      return session;
    },
    close() {
      for (const { stream } of all) stream.destroy();
    },
  };
}

/** Signed in by node-postgres, which then lets go of it. */
async function openSession(url: string, rest: (session: Session) => void): Promise<Session> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners('data');
  const session: Session = { stream, left: Buffer.alloc(0), client: null };
  stream.on('data', (bytes) => {
    session.client?.write(bytes);
    if (endsTransaction(session, bytes)) rest(session);
  });
  return session;
}

/** Whether the server is ready for another transaction, after these bytes of its answer. */
function endsTransaction(session: Session, bytes: Buffer): boolean {
  let left = Buffer.concat([session.left, bytes]);
  let isIdle = false;
  while (left.length >= 5 && left.length > left.readInt32BE(1)) {
    const end = 1 + left.readInt32BE(1);
    isIdle = left[0] === READY && String.fromCharCode(left[5] ?? 0) === IDLE;
    left = left.subarray(end);
  }
  session.left = left;
  return isIdle && left.length === 0;
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

/** The parameters of a connection; null where the client goes instead. */
async function readStartup(client: Socket): Promise<ReadonlyMap<string, string> | null> {
  const [bytes]: (Buffer | undefined)[] = await Promise.race([
    once(client, 'data'),
    once(client, 'close').then(() => []),
  ]);
  client.pause();
  if (bytes === undefined) return null;
  const names = bytes.subarray(8).toString('utf8').split('\0');
  const parameters = new Map<string, string>();
  for (let i = 0; i + 1 < names.length; i += 2) {
    if (names[i] !== '') parameters.set(names[i] ?? '', names[i + 1] ?? '');
  }
  return parameters;
}
