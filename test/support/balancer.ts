import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

/** Hands each connection to the next instance that takes it, as a balancer of connections does. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let turn = 0;

  function hand(socket: Socket, left: number): void {
    const port = ports[turn++ % ports.length] ?? 0;
    const upstream = connect(port, '127.0.0.1');
    sockets.add(upstream);
    let isConnected = false;
    upstream.once('connect', () => {
      isConnected = true;
      socket.pipe(upstream).pipe(socket);
    });
    upstream.once('error', () => {
      if (!isConnected && left > 1) hand(socket, left - 1);
      else socket.destroy();
    });
    upstream.once('close', () => {
      sockets.delete(upstream);
      if (isConnected) socket.destroy();
    });
    socket.once('close', () => upstream.destroy());
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    hand(socket, ports.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
