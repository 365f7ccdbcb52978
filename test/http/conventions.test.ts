import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newEvidence,
  newWallet,
  type Owner,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
beforeAll(async () => {
  ({ service, owner, robot } = await startServiceWithRobot({ chain: 'mining' }));
});
afterAll(() => service.close());

const bySession = (method: string, path: string, body?: unknown) =>
  service.call(method, `/api/v1${path}`, {
    session: owner.session,
    ...(body !== undefined && { body }),
  });
const byKey = (method: string, path: string, body?: unknown, key = robot.apiKey) =>
  service.call(method, `/api/v1${path}`, {
    apiKey: key,
    ...(body !== undefined && { body }),
  });
const remaining = ({ headers }: { headers: Headers }) =>
  Number(headers.get('x-ratelimit-remaining'));

describe('a call with a robot key', () => {
  it.each([
    ['GET', '/api/v1', 404],
    ['GET', '/api/v1/nothing', 404],
    ['GET', '/api/v1/tasks/%zz', 404],
    ['GET', '/api/v1/nothing/%zz', 400],
    ['DELETE', '/api/v1/tasks', 405],
    ['GET', '/api/v1/me', 401],
  ])('counts, even if it is %s %s', async (method, path, status) => {
    const { apiKey } = await service.makeRobot(owner);

    const first = await service.call(method, path, { apiKey });
    const second = await service.call(method, path, { apiKey });

    expect([first.status, second.status]).toEqual([status, status]);
    expect(remaining(second)).toBe(remaining(first) - 1);
  });

  it('counts, even if its Origin is refused', async () => {
    const { apiKey } = await service.makeRobot(owner);
    const send = () =>
      service.call('POST', '/api/v1/robots', {
        apiKey,
        body: {},
        headers: { origin: 'https://evil.test' },
      });

    const first = await send();
    const second = await send();

    expect([first.status, second.body.error]).toEqual([403, 'forbidden_origin']);
    expect(remaining(second)).toBe(remaining(first) - 1);
  });

  it.each(['GET', 'POST'])('is free for %s /verify', async (method) => {
    const { apiKey } = await service.makeRobot(owner);

    for (const hash of [`0x${'0'.repeat(64)}`, '%zz']) {
      const reply = await service.call(method, `/api/v1/verify/${hash}`, { apiKey });
      expect(remaining(reply)).toBe(600);
    }
  });
});

describe('a challenge', () => {
  it('counts with a wrong chainId', async () => {
    const { address } = newWallet();
    const ask = (chainId: unknown) =>
      service.call('POST', '/api/auth/challenge', { body: { address, chainId } });

    const [wrong, right] = [await ask('x'), await ask(1)];

    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_chain_id']);
    expect([remaining(wrong), remaining(right)]).toEqual([59, 58]);
  });

  it('without an object as body is refused', async () => {
    const reply = await service.call('POST', '/api/auth/challenge', { body: null });

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_request']);
  });

  it('is refused for an address in both cases whose checksum is wrong', async () => {
    const { address } = newWallet();
    const ask = (text: string) =>
      service.call('POST', '/api/auth/challenge', { body: { address: text } });
    const flipped = address.replace(/[a-f]/i, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    const wrong = /[a-f].*[A-F]|[A-F].*[a-f]/.test(flipped.slice(2)) ? flipped : null;

    const known = [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`];
    for (const text of known) expect((await ask(text)).status).toBe(200);
    if (wrong !== null) expect((await ask(wrong)).body.error).toBe('invalid_address');
  });
});

describe('a completed task', () => {
  it.each([
    {},
    { proof: null },
    { proof: 'x' },
    { other: 1 },
    [],
    { proof: { big: 'x'.repeat(300_000) } },
    null,
    '{"proof":{"a":1,"a":2}}',
    '{"proof":{"a":9007199254740993}}',
    `{"proof":${'['.repeat(200)}${']'.repeat(200)}}`,
    `{"proof":[${'1,'.repeat(200_000)}1]}`,
  ])('is already_completed whatever JSON is sent (%#)', async (body) => {
    const id = await service.claim(robot);
    expect((await service.complete(robot, id, newEvidence())).status).toBe(200);

    const reply = await service.call('POST', `/api/v1/tasks/${id}/complete`, {
      apiKey: robot.apiKey,
      raw: typeof body === 'string' ? body : JSON.stringify(body),
    });

    expect([reply.status, reply.body.error]).toEqual([409, 'already_completed']);
    expect(reply.body.verification.task_id).toBe(id);
  });

  it('is reported for an invalid proof while the task is open', async () => {
    const id = await service.claim(robot);

    const reply = await byKey('POST', `/tasks/${id}/complete`, { proof: null });

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_proof']);
    const raw = '{"proof":{"a":1,"a":2}}';
    const { apiKey } = robot;
    const twice = await service.call('POST', `/api/v1/tasks/${id}/complete`, { apiKey, raw });
    expect(twice.body).toMatchObject({
      error: 'invalid_proof',
      message: expect.stringMatching(/^The member name is used twice/),
    });
  });
});

describe('ids', () => {
  it('are accepted in upper case and returned in lower case', async () => {
    const id = randomUUID();
    const claimed = await byKey('POST', '/tasks', { id: id.toUpperCase(), title: 'a' });
    const repeated = await byKey('POST', '/tasks', { id, title: 'a' });
    const read = await bySession('GET', `/tasks/${id.toUpperCase()}`);
    const listed = await bySession('GET', `/tasks?robot_id=${robot.id.toUpperCase()}`);

    expect(claimed.body.task.id).toBe(id);
    expect(repeated.status).toBe(201);
    expect(read.body.task.id).toBe(id);
    expect(listed.status).toBe(200);
  });

  it('of a robot and a fleet may be chosen by the caller, and a repeat creates no second one', async () => {
    const [robotId, fleetId] = [randomUUID(), randomUUID()];
    const made = await bySession('POST', '/robots', { id: robotId, name: 'arm' });
    const again = await bySession('POST', '/robots', { id: robotId, name: 'arm' });
    const other = await bySession('POST', '/robots', { id: robotId, name: 'leg' });
    const fleet = await bySession('POST', '/fleets', { id: fleetId, name: 'Hall', tags: ['a'] });
    const fleetAgain = await bySession('POST', '/fleets', {
      id: fleetId,
      name: 'Hall',
      tags: ['a'],
    });
    const fleetOther = await bySession('POST', '/fleets', { id: fleetId, name: 'Hall' });
    const stranger = await service.signIn();
    const theirs = await service.call('POST', '/api/v1/robots', {
      session: stranger.session,
      body: { id: robotId, name: 'arm' },
    });

    expect(made.headers.get('location')).toBe(`/api/v1/robots/${robotId}`);
    expect(again.body).toEqual({
      robot: made.body.robot,
      next: expect.stringContaining(`/api/v1/robots/${robotId}/rotate-key`),
    });
    expect(fleetAgain.body).toEqual(fleet.body);
    for (const reply of [other, fleetOther, theirs]) {
      expect([reply.status, reply.body.error]).toEqual([409, 'id_conflict']);
    }
  });
});

describe('a resource that was read', () => {
  it('can be sent back: null for an optional member is absent', async () => {
    const id = randomUUID();
    const task = { id, title: 'a', description: null, expected_result: null, occurred_at: null };

    const claimed = await byKey('POST', '/tasks', task);
    const sample = { battery_pct: null, state: null, metrics: null, recorded_at: null };
    const samples = await byKey('POST', '/telemetry', { samples: [sample] });
    const title = await byKey('POST', '/tasks', { title: null });

    expect(claimed.body.task).toMatchObject({ id, description: null });
    expect(samples.body.samples[0]).toMatchObject({ battery_pct: null, metrics: {} });
    expect(title.body.error).toBe('invalid_request');
  });

  it.each(['/api/v1/robots', '/api/v1/robot', '/api/chain', '/openapi.json'])(
    'is answered with 304 at %s for its ETag, with the rate headers',
    async (path) => {
      const credential = path === '/api/v1/robot' ? robot : { session: owner.session };
      const first = await service.call('GET', path, credential);
      const tag = first.headers.get('etag') ?? '';
      const headers = { 'if-none-match': `"other", ${tag}` };

      const second = await service.call('GET', path, { ...credential, headers });
      const changed = await service.call('GET', path, {
        ...credential,
        headers: { 'if-none-match': '"other"' },
      });

      expect([second.status, second.body]).toEqual([304, null]);
      expect(second.headers.get('x-ratelimit-limit')).not.toBeNull();
      expect(changed.status).toBe(200);
    },
  );

  it('is compressed for the dashboard, not below 2 KiB and not for verification', async () => {
    for (let n = 0; n < 10; n += 1) await service.makeRobot(owner, `robot ${n}`);
    const ask = async (path: string, encoding: string) => {
      const response = await fetch(service.url + path, {
        headers: { cookie: `svc_session=${owner.session}`, 'accept-encoding': encoding },
      });
      expect(response.headers.get('vary')).toContain('Accept-Encoding');
      return [response.headers.get('content-encoding'), (await response.json()) as object] as const;
    };

    const [zipped, items] = await ask('/api/v1/robots', 'gzip');
    const [plain, same] = await ask('/api/v1/robots', 'identity, gzip;q=0');

    expect([zipped, plain]).toEqual(['gzip', null]);
    expect(items).toEqual(same);
    expect((await ask('/api/v1/me', 'gzip'))[0]).toBeNull();
    expect((await ask('/openapi.json', 'br, gzip'))[0]).toBe('gzip');
    expect((await ask('/openapi.json', 'gzip;q=0, *'))[0]).toBeNull();
  });
});

describe('methods', () => {
  it('of a path are listed if another one is used', async () => {
    const wrong = await service.call('PUT', '/api/v1/robots/x');
    const asked = await service.call('OPTIONS', '/api/v1/robots/x');

    expect([wrong.status, wrong.body.error]).toEqual([405, 'method_not_allowed']);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, PATCH, DELETE, OPTIONS');
    expect([asked.status, asked.headers.get('allow')]).toEqual([204, wrong.headers.get('allow')]);
  });

  it('include HEAD for every GET', async () => {
    const get = await bySession('GET', '/robots');
    const head = await fetch(`${service.url}/api/v1/robots`, {
      method: 'HEAD',
      headers: { cookie: `svc_session=${owner.session}`, 'accept-encoding': 'identity' },
    });

    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('etag')).toBe(get.headers.get('etag'));
  });

  it('of public routes are open to pages of any origin, never with a credential', async () => {
    const headers = { origin: 'https://panel.test', 'access-control-request-method': 'GET' };
    const reply = await service.call('OPTIONS', '/api/v1/verify/0x00', { headers });
    const closed = await service.call('OPTIONS', '/api/v1/robots', { headers });

    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-allow-headers')).not.toMatch(/authorization/i);
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
    expect(closed.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a message', () => {
  it.each([
    [{ location: 'x'.repeat(201) }, 'location must have at most 200 characters.'],
    [{ location: 5 }, 'location must be a string or null.'],
  ])('names the limit of a field that may be null (%#)', async (patch, message) => {
    const reply = await bySession('PATCH', `/fleets/${randomUUID()}`, patch);

    expect(reply.body.message).toBe(message);
  });

  it('about members that are sent twice has the code of samples', async () => {
    const { apiKey } = robot;
    const raw = '{"other":1,"other":2}';
    const reply = await service.call('POST', '/api/v1/telemetry', { apiKey, raw });

    expect(reply.body.error).toBe('invalid_sample');
  });
});

describe('parameters', () => {
  it('that are unknown are ignored by public routes', async () => {
    expect((await service.call('GET', '/api/chain?utm_source=mail')).status).toBe(200);
  });

  it('that are unknown are refused elsewhere, with the known ones', async () => {
    const reply = await bySession('GET', '/tasks?robot=1');

    expect(reply.body.error).toBe('invalid_request');
    expect(reply.body.message).toMatch(
      /^robot is not a known parameter; this endpoint takes limit,/,
    );
  });
});

it('an empty POST body needs no content type where no body is needed', async () => {
  for (const body of [undefined, '']) {
    const response = await fetch(`${service.url}/api/v1/robots/${robot.id}/rotate-key`, {
      method: 'POST',
      headers: { cookie: `svc_session=${owner.session}` },
      ...(body === undefined ? {} : { body: new Blob([]) }),
    });
    expect(response.status).toBe(200);
    robot.apiKey = ((await response.json()) as { api_key: string }).api_key;
  }
});

it('every answer states the remaining time of the window', async () => {
  const reset = Number((await byKey('GET', '/robot')).headers.get('x-ratelimit-reset'));

  expect(reset).toBeGreaterThanOrEqual(1);
  expect(reset).toBeLessThanOrEqual(60);
});

describe('filters', () => {
  it('of tasks: fleet, anchor state and period, each page within a bounded number of records', async () => {
    const fleet = (await bySession('POST', '/fleets', { name: 'Filtered' })).body.fleet.id;
    const inside = await service.makeRobot(owner, 'inside');
    await bySession('PATCH', `/robots/${inside.id}`, { fleet_id: fleet });
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.unshift(await service.claim(inside));
    await service.claim(robot);
    await service.complete(inside, ids[0] ?? '');
    const listed = async (query: string) => {
      const { items } = (await bySession('GET', `/tasks?fleet_id=${fleet}${query}`)).body;
      return items.map(({ id }: { id: string }) => id);
    };
    const created = (await bySession('GET', `/tasks/${ids[1]}`)).body.task.created_at;

    const first = (await bySession('GET', `/tasks?fleet_id=${fleet}&limit=2`)).body;
    const rest = await listed(`&limit=2&cursor=${first.next_cursor}`);

    expect([...first.items.map(({ id }: { id: string }) => id), ...rest]).toEqual(ids);
    expect(await listed('&status=verified')).toEqual([ids[0]]);
    expect(await listed('&state=queued')).toEqual([]);
    expect(await listed(`&from=${created}`)).toEqual(ids.slice(0, 2));
    expect(await listed(`&to=${created}`)).toEqual(ids.slice(2));
    expect(await listed(`&to=${created}&cursor=${first.next_cursor}`)).toEqual(ids.slice(2));
    expect(await listed(`&to=2020-01-01&cursor=${first.next_cursor}`)).toEqual([]);
    expect((await bySession('GET', `/tasks?fleet_id=${randomUUID()}`)).status).toBe(404);
    expect((await bySession('GET', `/tasks?from=${created}&to=${created}`)).status).toBe(400);
  });

  it('of events and the ledger: fleet and period', async () => {
    const fleet = (await bySession('POST', '/fleets', { name: 'Heard' })).body.fleet.id;
    const inside = await service.makeRobot(owner, 'heard');
    await bySession('PATCH', `/robots/${inside.id}`, { fleet_id: fleet });
    const { event } = (await byKey('POST', '/events', { event_type: 'a' }, inside.apiKey)).body;
    await byKey('POST', '/events', { event_type: 'b' });
    const seen = async (query: string) =>
      (await bySession('GET', `/events?${query}`)).body.items.map(
        ({ event_type: type }: { event_type: string }) => type,
      );

    expect(await seen(`fleet_id=${fleet}`)).toEqual(['a']);
    expect(await seen(`fleet_id=${fleet}&event_type=b`)).toEqual([]);
    expect(await seen(`from=${event.created_at}`)).toContain('a');
    expect(await seen(`to=${event.created_at}`)).not.toContain('a');
    const ledger = await bySession('GET', '/credits/ledger?to=2020-01-01');
    expect(ledger.body).toEqual({ items: [], next_cursor: null });
  });

  it('let a robot list its own tasks, and no others', async () => {
    const other = await service.makeRobot(owner, 'other');
    const id = await service.claim(other);
    await service.claim(robot);

    const own = await byKey('GET', '/tasks', undefined, other.apiKey);
    const foreign = await byKey('GET', `/tasks?robot_id=${robot.id}`, undefined, other.apiKey);

    expect(own.body.items.map((task: { id: string }) => task.id)).toEqual([id]);
    expect(foreign.status).toBe(404);
  });
});

describe('a table for spreadsheets', () => {
  const table = async (path: string) => {
    const headers = { cookie: `svc_session=${owner.session}`, accept: 'text/csv' };
    const response = await fetch(`${service.url}/api/v1${path}`, { headers });
    return { response, lines: (await response.text()).trimEnd().split('\r\n') };
  };

  it('has the telemetry of a robot, with numbers as they are', async () => {
    const { id, apiKey } = await service.makeRobot(owner, 'measured');
    const sample = { battery_pct: 80.5, state: '@idle', metrics: { depth: -3 } };
    await byKey('POST', '/telemetry', sample, apiKey);

    const { lines } = await table(`/robots/${id}/telemetry`);

    expect(lines[1]).toMatch(/,80\.5,"'@idle","\{""depth"":-3\}"$/);
    expect((await table(`/robots/${randomUUID()}/telemetry`)).response.status).toBe(404);
  });

  it.each([
    ['=1+1', `"'=1+1"`],
    ['a;=HYPERLINK("x")', `"a;'=HYPERLINK(""x"")"`],
    ['a\t+1', `"a\t'+1"`],
    ['a\n-1', `"a\n'-1"`],
    ['a; @x', `"a; '@x"`],
    ['a|＝1', `"a|'＝1"`],
    ['2, -1 and 3-4', `"2, -1 and 3-4"`],
  ])('runs no formula in %j, whatever separates the columns', async (title, cell) => {
    await service.claim(robot, { title });

    const { lines } = await table('/tasks');

    expect(lines.join('\r\n')).toContain(`,${cell},`);
  });

  it('is refused like any list before it starts, and reads no pages for HEAD', async () => {
    const empty = await table('/tasks?from=2026-01-02&to=2026-01-01');
    const foreign = await table(`/tasks?fleet_id=${randomUUID()}`);
    const head = await fetch(`${service.url}/api/v1/tasks`, {
      method: 'HEAD',
      headers: { cookie: `svc_session=${owner.session}`, accept: 'text/csv' },
    });

    expect([empty.response.status, foreign.response.status]).toEqual([400, 404]);
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('of telemetry reports an empty period with a readable error', async () => {
    const { response, lines } = await table(
      `/robots/${robot.id}/telemetry?from=2026-01-02&to=2026-01-01`,
    );

    expect([response.status, JSON.parse(lines.join()).error]).toEqual([400, 'invalid_request']);
  });
});

it('the id of a deleted robot stays taken, for its owner and for others', async () => {
  const { id } = await service.makeRobot(owner, 'gone');
  await bySession('DELETE', `/robots/${id}`);
  const stranger = await service.signIn();

  const again = await bySession('POST', '/robots', { id, name: 'gone' });
  const theirs = await service.call('POST', '/api/v1/robots', {
    session: stranger.session,
    body: { id, name: 'gone' },
  });

  for (const reply of [again, theirs]) {
    expect([reply.status, reply.body.error]).toEqual([409, 'id_conflict']);
  }
});
