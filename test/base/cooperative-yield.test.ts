import { expect, it } from 'vitest';
import { runYielding } from '../../src/base/async/cooperative-yield.ts';

it('resolves with the result of the computation', async () => {
  function* sum(): Generator<void, number> {
    yield;
    yield;
    return 3;
  }

  expect(await runYielding(sum())).toBe(3);
});

it('yields to the event loop during a long computation', async () => {
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

it('rejects with the error of the computation', async () => {
  // biome-ignore lint/correctness/useYield: it throws before its first step
  function* broken(): Generator<void, never> {
    throw new RangeError('no leaves');
  }

  await expect(runYielding(broken())).rejects.toThrow('no leaves');
});
