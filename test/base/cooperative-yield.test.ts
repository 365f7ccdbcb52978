import { expect, it } from 'vitest';
import { runYielding } from '../../src/base/async/cooperative-yield.ts';

it('answers what the computation returns', async () => {
  function* sum(): Generator<void, number> {
    yield;
    yield;
    return 3;
  }

  expect(await runYielding(sum())).toBe(3);
});

it('lets the event loop turn while a long computation goes on', async () => {
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  function* untilTurned(): Generator<void, boolean> {
    const givenUpAt = performance.now() + 10_000;
    while (!turned && performance.now() < givenUpAt) yield;
    return turned;
  }

  expect(await runYielding(untilTurned())).toBe(true);
});

it('rejects with what the computation throws', async () => {
  // biome-ignore lint/correctness/useYield: it throws before its first step
  function* broken(): Generator<void, never> {
    throw new RangeError('no leaves');
  }

  await expect(runYielding(broken())).rejects.toThrow('no leaves');
});
