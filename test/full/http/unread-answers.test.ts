import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { InFlightRequests } from '../../../src/server/http/server/in-flight.ts';
import { createHttpServer } from '../../../src/server/http/server/listener.ts';
import { Connections } from '../../../src/server/http/server/strangers.ts';
import { waitFor } from '../../support/wait-for.ts';

/** More than the system keeps for both ends of a connection. */
const LARGE = 24 * 1024 * 1024;
const UNREAD_MS = 1_000;
const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

describe('a response that its client does not read', () => {
  let server: Server;
  let answers: InFlightRequests;
  const sockets: Socket[] = [];

  async function serve(listener: RequestListener): Promise<void> {
    answers = new InFlightRequests();
    server = createHttpServer(
      listener,
      answers,
      {
        headersMs: 10_000,
        requestMs: 30_000,
        unreadMs: UNREAD_MS,
        checkMs: 60_000,
      },
      new Connections([], () => false),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  async function ask(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(REQUEST);
    return socket;
  }

  const connections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });

  it('closes the connection if nothing of it is read for a while', async () => {
    await serve((_, response) => response.end(Buffer.alloc(LARGE)));

    const stuck = await ask();
    stuck.pause();

    await waitFor('the connection to end', async () => (await connections()) === 0);
  });

  it('is completed for a client that reads it slowly, however long that takes', async () => {
    await serve((_, response) => response.end(Buffer.alloc(LARGE)));

    const slow = await ask();
    let taken = 0;
    let isLong = false;
    slow.on('data', async (chunk) => {
      taken += chunk.length;
      if (isLong) return;
      slow.pause();
      await sleep(chunk.length / (LARGE / (4 * UNREAD_MS)));
      slow.resume();
    });
    const stuck = await ask();
    stuck.pause();
    await waitFor('the end of the other', async () => (await connections()) === 1);
    isLong = true;

    await waitFor('all of it', () => taken > LARGE);
  });

  it('keeps a connection whose response is still being prepared', async () => {
    await serve(async (_, response) => {
      await once(server, 'timeout');
      response.end('made');
    });

    const waiting = await ask();
    const [answer] = await once(waiting, 'data');

    expect(String(answer)).toContain('made');
  });

  it('closes the connections with the most memory if all together have too much', async () => {
    await serve((request, response) =>
      response.end(Buffer.alloc(request.socket.remotePort === first ? 2 * LARGE : LARGE)),
    );
    let first: number | undefined;
    const largest = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(largest);
    largest.on('error', () => {});
    await once(largest, 'connect');
    first = largest.localPort;
    largest.pause().write(REQUEST);
    (await ask()).pause();
    await waitFor('both to be answered', () => answers.any);

    answers.boundUnread(LARGE + LARGE / 2);

    await waitFor('one to be left', async () => (await connections()) === 1);
  });
});
