import { expect, it } from 'vitest';
import { openProviderPool } from '../../src/chain/provider-pool.ts';
import { limitRate } from '../../src/chain/rpc.ts';

it('starts the calls of one second at once, keeps those of 10 s waiting and refuses the others', async () => {
  const end = new AbortController();
  let started = 0;
  const ask = limitRate(100, async () => {
    started += 1;
    return [];
  });
  const codes: string[] = [];
  const calls = [{ method: 'eth_blockNumber', params: [] }];

  const asked = Array.from({ length: 1200 }, () =>
    ask(calls, end.signal).catch((error: { code: string }) => codes.push(error.code)),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const refused = codes.filter((code) => code === 'chain_unavailable').length;
  end.abort();
  await Promise.all(asked);

  expect(started).toBeGreaterThanOrEqual(100);
  // The loop itself takes time, in which a few more become free.
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThanOrEqual(100);
  expect(started + refused).toBeLessThan(1200);
});

it.each(['verifying', 'reading'] as const)(
  'counts the calls for %s to all URLs together',
  async (kind) => {
    const urls = ['http://127.0.0.1:9/a', 'http://127.0.0.1:9/b'];
    const pool = openProviderPool({ urls, verifyPerSecond: 10 });
    const end = new AbortController();
    const calls = [{ method: 'eth_blockNumber', params: [] }];

    const asked = pool.providers.flatMap((provider) =>
      Array.from({ length: 60 }, () => provider[kind](calls, end.signal)),
    );
    const refused: string[] = [];
    for (const one of asked) one.catch(({ reason }: { reason: string }) => refused.push(reason));
    await new Promise((resolve) => setImmediate(resolve));
    end.abort();
    await Promise.allSettled(asked);
    await pool.close();

    // 110 of 120 start within 10 s. With a limit for each URL, all 120 would.
    const paced = refused.filter((reason) => reason === 'too many reads in progress');
    expect(paced.length).toBeGreaterThan(0);
    expect(paced.length).toBeLessThanOrEqual(10);
  },
);
