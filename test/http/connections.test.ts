import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InFlightRequests } from '../../src/server/http/server/in-flight.ts';
import { arrivalTimeouts, createHttpServer } from '../../src/server/http/server/listener.ts';
import { Connections } from '../../src/server/http/server/strangers.ts';
import { waitFor } from '../support/wait-for.ts';

/** Linux takes every address of 127.0.0.0/8 as its own, so each is a source. */
describe.runIf(process.platform === 'linux')('connections with room for 4', () => {
  let server: Server;
  let connections: Connections;
  let arrived: Socket[];
  let opened: Socket[];
  let answer: () => void;
  beforeEach(() => begin([]));
  afterEach(() => {
    for (const socket of opened) socket.destroy();
    server.close();
  });

  async function begin(proxies: string[]): Promise<void> {
    const answers = new InFlightRequests();
    connections = new Connections(proxies, (socket) => answers.isBusy(socket), 4);
    [arrived, opened] = [[], []];
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const respond = (_request: unknown, response: { end(): void }) =>
      gate.then(() => response.end());
    server = createHttpServer(respond, answers, arrivalTimeouts, connections);
    server.on('connection', (socket: Socket) => arrived.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  async function open(localAddress: string): Promise<Socket> {
    const { port } = server.address() as AddressInfo;
    const count = arrived.length;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    opened.push(socket);
    await waitFor('the connection to arrive', () => arrived.length > count);
    return socket;
  }

  const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

  it('of the source that has the most are closed, the oldest idle one first', async () => {
    const mine = await open('127.0.0.2');
    const [first, second, third] = [
      await open('127.0.0.3'),
      await open('127.0.0.3'),
      await open('127.0.0.3'),
    ];
    first.write(GET);
    await waitFor('the request', () => arrived[1]?.bytesRead === GET.length);

    await open('127.0.0.4');
    await waitFor('one to be closed', () => second.closed);

    expect([mine.closed, first.closed, third.closed]).toEqual([false, false, false]);
    answer();
  });

  it('that send a request too slowly count as idle', async () => {
    const slow = await open('127.0.0.3');
    slow.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1');
    for (const source of ['127.0.0.3', '127.0.0.2', '127.0.0.4']) await open(source);

    await open('127.0.0.5');

    await waitFor('it to be closed', () => slow.closed);
  });

  it('of robots and owners stay while strangers hold more than a tenth of all', async () => {
    const known = [await open('127.0.0.3'), await open('127.0.0.3'), await open('127.0.0.3')];
    for (const socket of arrived) connections.belongsTo('a', socket);
    const stranger = await open('127.0.0.2');

    await open('127.0.0.4');

    await waitFor('the stranger to be closed', () => stranger.closed);
    expect(known.some(({ closed }) => closed)).toBe(false);
  });

  it('of the account that has the most are closed while strangers hold few', async () => {
    const mine = await open('127.0.0.2');
    connections.belongsTo('b', arrived[0] as Socket);
    const [oldest, ...others] = [
      await open('127.0.0.3'),
      await open('127.0.0.3'),
      await open('127.0.0.3'),
    ];
    for (const socket of arrived.slice(1)) connections.belongsTo('a', socket);

    const stranger = await open('127.0.0.4');

    await waitFor('one to be closed', () => oldest?.closed === true);
    expect([mine, ...others, stranger].some(({ closed }) => closed)).toBe(false);
  });

  it('of a trusted proxy are never closed to make room', async () => {
    server.close();
    await begin(['127.0.0.3/32']);
    const proxied = [await open('127.0.0.3'), await open('127.0.0.3'), await open('127.0.0.3')];
    const stranger = await open('127.0.0.2');

    await open('127.0.0.4');

    await waitFor('the stranger to be closed', () => stranger.closed);
    expect(proxied.some(({ closed }) => closed)).toBe(false);
  });
});
