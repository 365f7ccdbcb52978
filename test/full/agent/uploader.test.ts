import { describe, expect, it } from 'vitest';
import { numbers, setUpUploads } from '../../support/uploads.ts';
import { waitFor } from '../../support/wait-for.ts';

const scene = setUpUploads();

describe('while the service is down', () => {
  it.each([
    ['503', 503, { error: 'storage_unavailable', message: 'Later.' }, {}],
    ['429 with Retry-After', 429, { error: 'rate_limited', message: 'Slow.', retry_after: 1 }, {}],
    ['a page of something else', 200, '<html>' as unknown as object, {}],
    ['a redirect', 302, {}, { location: 'http://127.0.0.1:9/' }],
  ])('keeps every record through %s', async (_, status, body, headers) => {
    scene.proxy.fail(status, body, headers);
    await scene.agent.start();
    const id = await scene.agent.claim();
    await scene.agent.record(numbers(3));
    await waitFor('a refused call', () => scene.proxy.seen.length > 0);
    scene.proxy.restore();
    await scene.delivered();

    expect((await scene.remoteTask(id)).status).toBe(200);
    expect(await scene.remoteSamples()).toHaveLength(3);
  });
});

describe('a record that the service refuses', () => {
  it('is set aside with its reason, and delays no other', async () => {
    await scene.agent.start();
    const ahead = new Date(Date.now() + 48 * 60 * 60_000).toISOString();
    const samples = numbers(50).map((sample, i) =>
      i === 17 ? { ...sample, recorded_at: ahead } : sample,
    );
    await scene.agent.record(samples);
    await scene.delivered();

    const stored = (await scene.remoteSamples()).map(({ metrics }) => metrics.n);
    expect(stored.sort((a, b) => a - b)).toEqual([...Array(50).keys()].filter((n) => n !== 17));
    expect((await scene.agent.status()).refused).toBe(1);
  });
});
