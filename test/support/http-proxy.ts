import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export type HttpProxy = Awaited<ReturnType<typeof startHttpProxy>>;

interface HttpProxyOptions {
  /** The port on this machine to which a host and port lead; null for a refusal. */
  portOf: (target: string) => number | null;
  /** `user:password` that a request must have. */
  credentials?: string;
}

/** An HTTP proxy that tunnels and forwards to this machine, whatever the name. */
export async function startHttpProxy({ portOf, credentials }: HttpProxyOptions) {
  const tunnels: string[] = [];
  const forwarded: string[] = [];
  const sockets = new Set<Socket>();
  const expected =
    credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isAllowed = ({ headers }: IncomingMessage) => headers['proxy-authorization'] === expected;
  const server = createServer((incoming, response) => {
    const { host, pathname, search } = new URL(incoming.url ?? '');
    forwarded.push(host);
    const port = portOf(host);
    if (port === null || !isAllowed(incoming)) {
      response.writeHead(port === null ? 403 : 407).end();
      return;
    }
    const { method, headers } = incoming;
    const { 'proxy-authorization': _, ...own } = headers;
    const path = pathname + search;
    const call = request({ host: '127.0.0.1', port, method, path, headers: own }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    call.on('error', () => response.destroy());
    incoming.pipe(call);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (incoming, socket: Socket) => {
    const target = incoming.url ?? '';
    tunnels.push(target);
    const port = portOf(target);
    if (port === null || !isAllowed(incoming)) {
      const status = port === null ? '403 Forbidden' : '407 Proxy Authentication Required';
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    socket.on('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    /** The targets of CONNECT requests so far. */
    tunnels,
    /** The hosts of other requests so far. */
    forwarded,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
