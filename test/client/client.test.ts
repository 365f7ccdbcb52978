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

describe('what the client makes of an answer', () => {
  it('resolves with 202, which is not a failure', async () => {
    wire.use(
      http.post(`${baseUrl}/api/v1/tasks/${id}/complete`, () =>
        HttpResponse.json({ error: 'anchor_unconfirmed' }, { status: 202 }),
      ),
    );

    const answer = await robot.call('completeTask', { params: { id }, body: { proof: [] } });

    expect(answer).toMatchObject({ status: 202, body: { error: 'anchor_unconfirmed' } });
  });

  it("rejects with the service's own code and further members", async () => {
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

  it('says that a cut connection leaves the outcome unknown', async () => {
    wire.use(http.get(`${baseUrl}/api/v1/tasks/${id}`, () => HttpResponse.error()));

    await expect(robot.call('getTask', { params: { id } })).rejects.toMatchObject({
      code: 'service_unreachable',
      retryable: true,
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
