import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { Change } from '../../src/protocol/stream.ts';
import { storageUnavailable } from '../../src/server/ports/errors.ts';
import { createTestClock } from '../support/clock.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { type OpenedStream, openStream } from '../support/stream.ts';
import { waitFor } from '../support/wait-for.ts';

describe('the stream', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    ({ owner, robot } = await service.signInWithRobot());
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(() => service.close());

  /** A stream whose first message was read. */
  const follow = async (session = owner.session) => {
    const stream = await openStream(service.url, { session });
    expect(await stream.next()).toEqual({ changes: null });
    return stream;
  };
  /** The changes until each of these kinds and ids was among them. */
  const until = async (stream: OpenedStream, ...wanted: string[]) => {
    const seen = new Set<string>();
    while (!wanted.every((change) => seen.has(change))) {
      const message = await stream.next();
      if (message === null) throw new Error('The stream has ended');
      for (const { kind, id } of message.changes ?? []) seen.add(`${kind} ${id}`);
    }
    return [...seen];
  };
  const report = (by = robot, id = crypto.randomUUID()) =>
    service
      .call('POST', '/api/v1/events', { apiKey: by.apiKey, body: { id, event_type: 'moved' } })
      .then(() => id);

  it('is an unbuffered event stream with the headers of every answer', async () => {
    const { response } = await follow();

    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'private, no-store',
      'x-accel-buffering': 'no',
      'x-ratelimit-limit': String(limits.accountMutationsPerWindow),
      'x-content-type-options': 'nosniff',
    });
    expect(response.headers['content-encoding']).toBeUndefined();
  });

  it('has no body for HEAD', async () => {
    const headers = { cookie: `svc_session=${owner.session}` };
    const response = await fetch(`${service.url}/api/v1/stream`, { method: 'HEAD', headers });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe('');
  });

  it('reports the telemetry, events and claims of robots', async () => {
    const stream = await follow();

    const event = await report();
    const task = await service.claim(robot);
    await service.call('POST', '/api/v1/telemetry', {
      apiKey: robot.apiKey,
      body: { battery_pct: 70 },
    });

    const seen = await until(stream, `event ${event}`, `task ${task}`);
    expect(seen.toSorted()).toEqual(
      [`event ${event}`, `robot ${robot.id}`, `task ${task}`].toSorted(),
    );
  });

  it('reports robots that the account creates and changes', async () => {
    const stream = await follow();

    const made = await service.makeRobot(owner, 'arm-2');
    await service.call('PATCH', `/api/v1/robots/${robot.id}`, {
      session: owner.session,
      body: { name: 'arm-one' },
    });

    await until(stream, `robot ${made.id}`, `robot ${robot.id}`);
  });

  it('reports that anything may have changed if no kind fits', async () => {
    const stream = await follow();

    await service.call('POST', '/api/v1/fleets', { session: owner.session, body: { name: 'N' } });
    expect(await stream.next()).toEqual({ changes: null });
    await service.call('DELETE', `/api/v1/robots/${robot.id}`, { session: owner.session });
    expect(await stream.next()).toEqual({ changes: null });
    const { session } = owner;
    const body = { kind: 'battery_low', threshold: 20 };
    await service.call('POST', '/api/v1/alert-rules', { session, body });
    expect(await stream.next()).toEqual({ changes: null });
    await service.call('DELETE', '/api/v1/alert-rules/battery_low', { session });
    expect(await stream.next()).toEqual({ changes: null });
  });

  it('reports that anything may have changed after a robot moved or lacks credit', async () => {
    const { session } = owner;
    const body = { name: 'N' };
    const { fleet } = (await service.call('POST', '/api/v1/fleets', { session, body })).body;
    const taskId = await service.claim(robot);
    const stream = await follow();

    const move = { fleet_id: fleet.id };
    await service.call('PATCH', `/api/v1/robots/${robot.id}`, { session, body: move });
    expect(await stream.next()).toEqual({ changes: null });
    vi.spyOn(service.store, 'queueCompletion').mockResolvedValueOnce({
      outcome: 'no_anchor_quota',
    });
    await service.complete(robot, taskId);
    expect(await stream.next()).toEqual({ changes: null });
  });

  it('reports alerts and credits of other parts of the service', async () => {
    const stream = await follow();
    const alert: Change = { kind: 'alert', id: crypto.randomUUID() };
    const credit: Change = { kind: 'credit', id: crypto.randomUUID() };

    service.store.changed(owner.wallet, { alert: alert.id, credit: credit.id });

    expect(await stream.next()).toEqual({ changes: [alert, credit] });
  });

  it('accepts an account token of either scope', async () => {
    const body = { name: 'ci', scope: 'read' };
    const made = await service.call('POST', '/api/v1/tokens', { session: owner.session, body });
    const stream = await openStream(service.url, { apiKey: made.body.secret });
    expect(await stream.next()).toEqual({ changes: null });

    const event = await report();

    await until(stream, `event ${event}`);
  });

  it('shows an account only its own changes', async () => {
    const stranger = await service.signInWithRobot();
    const [own, theirs] = [await follow(), await follow(stranger.owner.session)];

    const ofOwner = await report();
    const ofStranger = await report(stranger.robot);

    await until(own, `event ${ofOwner}`);
    await until(theirs, `event ${ofStranger}`);
    expect(own.text()).not.toContain(ofStranger);
    expect(theirs.text()).not.toContain(ofOwner);
  });

  it('ends the oldest of more than 16 streams of an account, which then waits a minute', async () => {
    const oldest = await follow();
    const others: OpenedStream[] = [];
    for (let i = 1; i < limits.streamsPerAccount; i += 1) others.push(await follow());
    expect(oldest.response.closed).toBe(false);

    others.push(await follow());

    await oldest.ended();
    expect(oldest.text()).toMatch(/retry: 60000\n\n$/);
    const event = await report();
    for (const stream of others) await until(stream, `event ${event}`);
  });

  it('sends a heartbeat every 15 s', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const stream = await follow();

    vi.advanceTimersByTime(limits.streamCheckMs);

    expect(await stream.next()).toEqual({ changes: [] });
  });

  it.each(['session', 'token'])('ends within 15 s after its %s ends', async (kind) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { session } = owner;
    const body = { name: 'ci', scope: 'read' };
    const { token, secret } = (await service.call('POST', '/api/v1/tokens', { session, body }))
      .body;
    const other = await service.signIn(owner.account);
    const stream = await openStream(
      service.url,
      kind === 'token' ? { apiKey: secret } : { session: other.session },
    );
    const untouched = await follow();
    if (kind === 'token') await service.call('DELETE', `/api/v1/tokens/${token.id}`, { session });
    else await service.call('POST', '/api/auth/logout', { session: other.session });

    vi.advanceTimersByTime(limits.streamCheckMs);

    await stream.ended();
    await waitFor('a heartbeat', () => untouched.text().includes('"changes":[]'));
  });

  it('stays open while the database does not answer, and then reports that anything may have changed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const stream = await follow();
    const { store } = service;
    const away = storageUnavailable('The database does not answer.');
    const failing = vi.spyOn(store, 'authenticateSession').mockRejectedValueOnce(away);

    vi.advanceTimersByTime(limits.streamCheckMs);
    expect(await stream.next()).toEqual({ changes: null });
    failing.mockRestore();
  });

  it('combines the changes of a flood, and reports too many as one', async () => {
    const stream = await follow();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const same: Change = { kind: 'robot', id: robot.id };
    for (let i = 0; i < 1_000; i += 1) service.store.changed(owner.wallet, { robot: robot.id });
    vi.advanceTimersByTime(250);
    expect(await stream.next()).toEqual({ changes: [same] });

    for (let i = 0; i < 1_000; i += 1) {
      service.store.changed(owner.wallet, { event: crypto.randomUUID() });
    }
    vi.advanceTimersByTime(250);

    expect(await stream.next()).toEqual({ changes: null });
  });

  it('buffers nothing for a caller that does not read, and signals it once to read everything', async () => {
    const { hostname, port } = new URL(service.url);
    const arrived = once(service.app.server, 'connection') as Promise<[Socket]>;
    const socket = connect(Number(port), hostname);
    const [server] = await arrived;
    socket.write(
      `GET /api/v1/stream HTTP/1.1\r\nhost: x\r\ncookie: svc_session=${owner.session}\r\n\r\n`,
    );
    socket.setEncoding('utf8');
    await once(socket, 'readable');
    expect(socket.read()).toContain('data: {"changes":null}');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let sent = 0;
    let full = 0;
    // What the socket buffers, 16 KiB or since Node.js 22 64 KiB, and one message.
    const most = server.writableHighWaterMark + 16 * 1024;
    // The kernel buffers some megabytes before the service sees that the client does not read.
    while (full < 100 && sent < 20_000) {
      for (let i = 0; i < 100; i += 1) {
        service.store.changed(owner.wallet, { event: crypto.randomUUID() });
      }
      vi.advanceTimersByTime(250);
      sent += 1;
      await new Promise((resolve) => setImmediate(resolve));
      full = server.writableNeedDrain ? full + 1 : 0;
      expect(server.writableLength).toBeLessThan(most);
    }
    expect(full).toBe(100);
    vi.useRealTimers();

    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    const last = () => text.slice(text.lastIndexOf('data: '));
    await waitFor('the message for all that was missed', () =>
      last().startsWith('data: {"changes":null}\n\n'),
    );
    expect(text.split('"changes":[').length - 1).toBeLessThanOrEqual(sent - 99);
    socket.destroy();
  });
});

describe('a service that stops', () => {
  it('ends its streams first, and new ones immediately', async () => {
    const service = await startTestService();
    const owner = await service.signIn();
    const stream = await openStream(service.url, owner);
    await stream.next();

    service.stopping.abort();
    await stream.ended();
    expect((await service.call('GET', '/healthz')).status).toBe(200);

    const late = await openStream(service.url, owner);
    await late.ended();
    await service.close();
  });
});
