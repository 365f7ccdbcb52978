import { expect, it } from 'vitest';
import { atMost } from '../../src/chain/rpc.ts';

it('starts the calls of one second at once, keeps those of 10 s waiting and refuses the others', async () => {
  const end = new AbortController();
  let started = 0;
  const ask = atMost(100, async () => {
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
