import { getEventListeners } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { onAbort, pause } from '../../src/base/async/on-abort.ts';

const warnings: Error[] = [];
const note = (warning: Error) => {
  if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning);
};
afterEach(() => {
  process.off('warning', note);
  warnings.length = 0;
});

it('calls each waiting callback once when the signal aborts, and no removed one', () => {
  const end = new AbortController();
  const called: number[] = [];
  const forgets = [1, 2, 3].map((n) => onAbort(end.signal, () => called.push(n)));
  forgets[1]?.();

  end.abort();
  end.abort();

  expect(called).toEqual([1, 3]);
});

it('calls a function once per registration, of which one may be removed', () => {
  const end = new AbortController();
  let calls = 0;
  const count = () => {
    calls += 1;
  };
  onAbort(end.signal, count);
  onAbort(end.signal, count);
  onAbort(end.signal, count)();

  end.abort();

  expect(calls).toBe(2);
});

it('calls at once if the signal has aborted', () => {
  let calls = 0;

  onAbort(AbortSignal.abort(), () => {
    calls += 1;
  });

  expect(calls).toBe(1);
});

it('has one listener for a hundred waits, and none afterwards', async () => {
  process.on('warning', note);
  const end = new AbortController();
  const waits = Array.from({ length: 100 }, () => pause(60_000, end.signal));

  expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
  end.abort(new Error('over'));
  const outcomes = await Promise.allSettled(waits);

  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  await pause(0, new AbortController().signal);
  expect(warnings).toEqual([]);
});

it('leaves no listener behind a pause that ended', async () => {
  const { signal } = new AbortController();

  await pause(1, signal);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
