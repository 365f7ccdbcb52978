import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';

const baseUrl = 'http://svc.test';
const id = '018f5e8a-0000-7000-8000-000000000001';
const wire = setupServer();
// Looked up at each call, because the interception replaces the global one.
const wireFetch: typeof fetch = (...request) => fetch(...request);
const robot = createClient({
  baseUrl,
  fetch: wireFetch,
  credential: { apiKey: `svc_${'0'.repeat(40)}` },
});

beforeAll(() => wire.listen({ onUnhandledRequest: 'error' }));
afterEach(() => wire.resetHandlers());
afterAll(() => wire.close());

describe('what the client sends', () => {
  it('fills the path, the credential and the body from the routes table', async () => {
    let seen: unknown;
    wire.use(
      http.post(`${baseUrl}/api/v1/tasks/${id}/complete`, async ({ request }) => {
        seen = [request.headers.get('authorization'), await request.json()];
        return HttpResponse.json({ verification: {} });
      }),
    );

    const answer = await robot.call('completeTask', { params: { id }, body: { proof: { a: 1 } } });

    expect(answer.status).toBe(200);
    expect(seen).toEqual([`Bearer svc_${'0'.repeat(40)}`, { proof: { a: 1 } }]);
  });

  it('sends further headers of the call, but no other credential', async () => {
    let seen: unknown;
    wire.use(
      http.get(`${baseUrl}/api/v1/robot`, ({ request }) => {
        seen = [request.headers.get('prefer'), request.headers.get('authorization')];
        return HttpResponse.json({});
      }),
    );

    await robot.call('getOwnRobot', { headers: { prefer: 'wait=60', authorization: 'Bearer x' } });

    expect(seen).toEqual(['wait=60', `Bearer svc_${'0'.repeat(40)}`]);
  });

  it('sends an account token as a Bearer credential', async () => {
    let seen: unknown;
    wire.use(
      http.get(`${baseUrl}/api/v1/me`, ({ request }) => {
        seen = [request.headers.get('authorization'), request.headers.get('cookie')];
        return HttpResponse.json({});
      }),
    );

    const credential = { accountToken: 'svct_1' };
    await createClient({ baseUrl, fetch: wireFetch, credential }).call('getAccount');

    expect(seen).toEqual(['Bearer svct_1', null]);
  });

  it('sends a session as the cookie and leaves absent query members out', async () => {
    let seen: unknown;
    wire.use(
      http.get(`${baseUrl}/api/v1/robots`, ({ request }) => {
        seen = [request.headers.get('cookie'), new URL(request.url).search];
        return HttpResponse.json({ items: [], next_cursor: null });
      }),
    );

    await createClient({ baseUrl, fetch: wireFetch, credential: { session: 's' } }).call(
      'listRobots',
      {
        query: { limit: '2' },
      },
    );

    expect(seen).toEqual(['svc_session=s', '?limit=2']);
  });
});

describe('what the client refuses to send', () => {
  it.each<[string, unknown]>([
    ['NaN', Number.NaN],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['undefined', undefined],
    ['a date', new Date(0)],
    ['a map', new Map([[1, 2]])],
    ['a bigint', 1n],
    ['a hole', Array(1)],
    ['a lone surrogate', '\ud800'],
  ])('is %s in the evidence, which JSON would alter silently', async (_, value) => {
    const proof = { reading: value };

    const sent = robot.call('completeTask', { params: { id }, body: { proof } });

    await expect(sent).rejects.toMatchObject({
      code: 'invalid_body',
      message: expect.stringMatching(/^Nothing was sent\. /),
    });
  });

  it.each(['.', '..', ''])('%j as a part of a path', async (part) => {
    await expect(robot.call('getTask', { params: { id: part } })).rejects.toMatchObject({
      code: 'invalid_path',
      message: `"${part}" is not a valid id. Nothing was sent.`,
    });
  });

  it('is not an undefined member of the body, which it omits', async () => {
    let seen: unknown;
    wire.use(
      http.post(`${baseUrl}/api/v1/tasks`, async ({ request }) => {
        seen = await request.text();
        return HttpResponse.json({}, { status: 201 });
      }),
    );
    const body = { title: 'Sort', description: undefined } as unknown as { title: string }; // as JavaScript may

    await robot.call('createTask', { body });

    expect(seen).toBe('{"title":"Sort"}');
  });
});

describe('an answer whose body breaks off', () => {
  const clientReading = (pull: () => Promise<void>) =>
    createClient({ baseUrl, fetch: async () => new Response(new ReadableStream({ pull })) });

  it('leaves the outcome unknown', async () => {
    const client = clientReading(() => Promise.reject(new Error('cut')));

    await expect(client.call('getHealth')).rejects.toMatchObject({
      code: 'service_unreachable',
      message: `No answer from ${baseUrl}.`,
    });
  });

  it('is an abort if the caller aborted', async () => {
    const abort = new AbortController();
    const client = clientReading(() => {
      abort.abort(new Error('enough'));
      return Promise.reject(abort.signal.reason);
    });

    await expect(client.call('getHealth', { signal: abort.signal })).rejects.toThrow('enough');
  });
});

describe('how the client reads an answer', () => {
  it('resolves with 202, which is not a failure', async () => {
    wire.use(
      http.post(`${baseUrl}/api/v1/tasks/${id}/complete`, () =>
        HttpResponse.json({ error: 'anchor_unconfirmed' }, { status: 202 }),
      ),
    );

    const answer = await robot.call('completeTask', { params: { id }, body: { proof: [] } });

    expect(answer).toMatchObject({ status: 202, body: { error: 'anchor_unconfirmed' } });
  });

  it('rejects with the code and further members of the service', async () => {
    wire.use(
      http.get(`${baseUrl}/api/v1/tasks/${id}`, () =>
        HttpResponse.json(
          { error: 'rate_limited', message: 'Slow down.', retry_after: 7 },
          { status: 429 },
        ),
      ),
    );

    await expect(robot.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'Slow down.',
      retryable: true,
      details: { retry_after: 7, status: 429 },
    });
  });

  it('reports that a retry may succeed until the owner allows a command-line sign-in', async () => {
    wire.use(
      http.post(`${baseUrl}/api/auth/cli/token`, () =>
        HttpResponse.json({ error: 'authorization_pending', message: 'Wait.' }, { status: 400 }),
      ),
    );
    const body = { device_code: 'a'.repeat(43) };

    await expect(robot.call('redeemCliCode', { body })).rejects.toMatchObject({
      code: 'authorization_pending',
      retryable: true,
    });
  });

  it.each([
    ['HTML of a proxy', () => HttpResponse.html('<h1>Bad gateway</h1>', { status: 502 })],
    ['truncated JSON', () => new HttpResponse('{"task":', { status: 200 })],
    ['JSON of something else', () => HttpResponse.json({ detail: 'no' }, { status: 404 })],
  ])('says that %s is not the service', async (_, answer) => {
    wire.use(http.get(`${baseUrl}/api/v1/tasks/${id}`, answer));

    await expect(robot.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'unexpected_answer',
    });
  });

  it.each(['<html>\n', '{"kind":\n'])(
    'says that the line %j of a stream is not the service',
    async (line) => {
      const headers = { 'content-type': 'application/jsonl' };
      wire.use(http.post(`${baseUrl}/api/v1/me/export`, () => new HttpResponse(line, { headers })));
      const body = { message: '', signature: '0x' };

      await expect(robot.exportAccount(body).next()).rejects.toMatchObject({
        code: 'unexpected_answer',
      });
    },
  );

  it.each([1, 7, 1000])('reads the lines of a stream in pieces of %d bytes', async (size) => {
    const records = ['a', 'ö', '漢字'].map((name) => ({ kind: 'robot', record: { name } }));
    const bytes = new TextEncoder().encode(
      records.map((each) => `${JSON.stringify(each)}\n`).join(''),
    );
    const pieces = new ReadableStream({
      start(stream) {
        for (let at = 0; at < bytes.length; at += size) stream.enqueue(bytes.slice(at, at + size));
        stream.close();
      },
    });
    const headers = { 'content-type': 'application/jsonl' };
    wire.use(http.post(`${baseUrl}/api/v1/me/export`, () => new HttpResponse(pieces, { headers })));

    const read: unknown[] = [];
    const body = { message: '', signature: '0x' };
    for await (const record of robot.exportAccount(body)) read.push(record);

    expect(read).toEqual(records);
  });

  it('says that a cut connection leaves the outcome of a write unknown', async () => {
    wire.use(http.post(`${baseUrl}/api/v1/tasks`, () => HttpResponse.error()));

    await expect(robot.call('createTask', { body: { title: 'x' } })).rejects.toMatchObject({
      code: 'service_unreachable',
      hint: expect.stringContaining('A write may have arrived'),
      retryable: true,
    });
  });

  it('reports no unknown write if nothing listened', async () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    for (const cause of [refused, new TypeError('fetch failed', { cause: refused })]) {
      const fetch = () => Promise.reject(cause);
      const client = createClient({ baseUrl, fetch, credential: { session: 'a' } });

      await expect(client.call('signOut')).rejects.toMatchObject({
        code: 'service_unreachable',
        hint: 'Check the address and the network.',
      });
    }
  });

  it('reports no unknown write if a read was cut', async () => {
    wire.use(http.get(`${baseUrl}/api/v1/tasks/${id}`, () => HttpResponse.error()));

    await expect(robot.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'service_unreachable',
      hint: 'Check the address and the network.',
      retryable: true,
    });
  });

  it('treats a fetch that throws like one that rejects', async () => {
    const fetch = () => {
      throw new TypeError('no proxy');
    };
    const client = createClient({ baseUrl, fetch, credential: { apiKey: 'svc_1' } });

    await expect(client.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'service_unreachable',
    });
  });

  it('never follows a redirect', async () => {
    wire.use(
      http.get(`${baseUrl}/api/v1/tasks/${id}`, () =>
        HttpResponse.redirect('http://other.test/', 307),
      ),
    );

    await expect(robot.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'service_unreachable',
    });
  });
});
