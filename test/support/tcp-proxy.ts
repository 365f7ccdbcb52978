import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Bytes that go at once over a slow line. */
const SLICE = 256;

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** A TCP proxy to the service that can be slow, silent or cut. Each fault lasts until `restore`. */
export async function startTcpProxy(service: string) {
  const target = new URL(service);
  const open = new Set<Connection>();
  const [up, down] = [createLane(), createLane()];
  const cutAfter = { up: Number.POSITIVE_INFINITY, down: Number.POSITIVE_INFINITY };
  let isDead = false;
  const server = createServer((client) => {
    const connection = { client, remote: connect(Number(target.port), target.hostname), isDead };
    open.add(connection);
    client.once('close', () => {
      open.delete(connection);
      if (!connection.isDead) connection.remote.destroy();
    });
    void pump(connection, client, connection.remote, up, () => cutAfter.up);
    void pump(connection, connection.remote, client, down, () => cutAfter.down);
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const endAll = () => {
    for (const { client, remote } of open) {
      client.resetAndDestroy();
      remote.destroy();
    }
  };
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => open.size,
    /** Bytes a second, of each direction. */
    throttle(rate: number) {
      up.rate = rate;
      down.rate = rate;
    },
    /** No data arrives and no connection closes. Connections that are open now stay silent after `restore`. */
    stall() {
      isDead = true;
      for (const connection of open) connection.isDead = true;
    },
    /** Resets each connection after this many bytes of requests or of responses. */
    cutAfter(bytes: Partial<typeof cutAfter>) {
      Object.assign(cutAfter, bytes);
    },
    /** Nothing listens. */
    async refuse() {
      server.close();
      endAll();
      await once(server, 'close');
    },
    async restore() {
      isDead = false;
      up.rate = down.rate = cutAfter.up = cutAfter.down = Number.POSITIVE_INFINITY;
      if (!server.listening) await listen(server, port);
    },
    async close() {
      endAll();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

interface Connection {
  client: Socket;
  remote: Socket;
  isDead: boolean;
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

interface ConcurrencyLimit {
  rate: number;
  /** Resolves after this many bytes were sent. */
  pass(bytes: number): Promise<void>;
}

function createLane(): ConcurrencyLimit {
  let freeAt = 0;
  return {
    rate: Number.POSITIVE_INFINITY,
    async pass(bytes) {
      if (!Number.isFinite(this.rate)) return;
      freeAt = Math.max(freeAt, performance.now()) + (bytes * 1000) / this.rate;
      await sleep(freeAt - performance.now());
    },
  };
}

async function pump(
  connection: Connection,
  from: Socket,
  to: Socket,
  limited: ConcurrencyLimit,
  most: () => number,
): Promise<void> {
  let passed = 0;
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length && !connection.isDead; at += SLICE) {
        // Drops the unsent data of a closed connection, to free the line.
        if (connection.client.destroyed) return;
        const slice = chunk.subarray(at, at + SLICE);
        await limited.pass(slice.length);
        passed += slice.length;
        if (passed > most()) throw new Error('Cut');
        if (!connection.isDead) to.write(slice);
      }
    }
    if (!connection.isDead) to.end();
  } catch {
    if (connection.isDead) return;
    // A reset of one side resets the other.
    connection.client.resetAndDestroy();
    connection.remote.destroy();
  }
}
