import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { throughPort } from './pooler.ts';

/** What the proxy does at one message of the server, counted from 0 in each session. */
export interface Disturbance {
  /** `fatal`: the message and the end of the session arrive in one packet. `cut`: half of the message arrives. */
  kind: 'fatal' | 'cut';
  message: number;
}

/** As an administrator ends a session, or a server that stops. */
const FATAL = message(
  'E',
  'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0',
);

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

/** Stands between a client and PostgreSQL, and ends sessions at any message of the server. */
export async function startPostgresProxy(database: string) {
  const { hostname, port } = new URL(database);
  const open = new Set<Socket>();
  const state = {
    disturbance: null as Disturbance | null,
    /** The types of the messages at which sessions ended. */
    ended: new Set<string>(),
  };
  const listener = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        open.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    let left: Buffer = Buffer.alloc(0);
    let count = 0;
    server.on('data', (bytes) => {
      left = Buffer.concat([left, bytes]);
      while (left.length >= 5 && left.length > left.readInt32BE(1)) {
        const end = 1 + left.readInt32BE(1);
        const [one, rest] = [left.subarray(0, end), left.subarray(end)];
        left = rest;
        if (state.disturbance?.message === count++) return endAt(client, one, state.disturbance);
        client.write(one);
      }
    });
  });
  function endAt(client: Socket, one: Buffer, { kind }: Disturbance): void {
    state.ended.add(one.toString('latin1', 0, 1));
    if (kind === 'fatal') client.end(Buffer.concat([one, FATAL]));
    else client.end(one.subarray(0, one.length >> 1));
  }
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: throughPort(database, (listener.address() as AddressInfo).port),
    state,
    async close() {
      for (const socket of open) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
