import { expect, it } from 'vitest';
import { mapInSteps } from '../../src/base/steps.ts';

function busyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('maps in order and lets others run every few milliseconds', async () => {
  let others = 0;
  const timer = setInterval(() => {
    others += 1;
  }, 1);

  const doubled = await mapInSteps([1, 2, 3, 4, 5, 6], (n) => {
    busyFor(6);
    return n * 2;
  });

  clearInterval(timer);
  expect(doubled).toEqual([2, 4, 6, 8, 10, 12]);
  expect(others).toBeGreaterThan(2);
});

it('maps what is short at once', async () => {
  expect(await mapInSteps([], () => 1)).toEqual([]);
});
