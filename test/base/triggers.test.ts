import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { Triggers } from '../../src/base/async/triggers.ts';

it('wakes only the callers that wait for the topic', async () => {
  const triggers = new Triggers();
  const { signal } = new AbortController();
  const waiting = [triggers.wait('a', signal), triggers.wait('a', signal)];
  void triggers.wait('b', signal);

  triggers.wake('a');

  await Promise.all(waiting);
  expect(triggers.size).toBe(1);
});

it('keeps no listener of a finished wait, neither its own nor one on the signal', async () => {
  const triggers = new Triggers();
  const woken = new AbortController();
  const aborted = new AbortController();
  const waits = [triggers.wait('a', woken.signal), triggers.wait('a', aborted.signal)];

  aborted.abort();
  triggers.wake('a');

  await Promise.all(waits);
  expect(triggers.size).toBe(0);
  for (const { signal } of [woken, aborted]) expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('wakes all callers at once', async () => {
  const triggers = new Triggers();
  const { signal } = new AbortController();
  const waits = ['a', 'b', 'c'].map((topic) => triggers.wait(topic, signal));

  triggers.wakeAll();

  await Promise.all(waits);
});
