import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { WakeUps } from '../../src/server/store/notifications.ts';

it('wakes those who wait for the topic, and nobody else', async () => {
  const wakeUps = new WakeUps();
  const { signal } = new AbortController();
  const waiting = [wakeUps.wait('a', signal), wakeUps.wait('a', signal)];
  void wakeUps.wait('b', signal);

  wakeUps.wake('a');

  await Promise.all(waiting);
  expect(wakeUps.size).toBe(1);
});

it('keeps nothing of a wait that ended, neither here nor on the signal', async () => {
  const wakeUps = new WakeUps();
  const woken = new AbortController();
  const aborted = new AbortController();
  const waits = [wakeUps.wait('a', woken.signal), wakeUps.wait('a', aborted.signal)];

  aborted.abort();
  wakeUps.wake('a');

  await Promise.all(waits);
  expect(wakeUps.size).toBe(0);
  for (const { signal } of [woken, aborted]) expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('wakes everyone at once', async () => {
  const wakeUps = new WakeUps();
  const { signal } = new AbortController();
  const waits = ['a', 'b', 'c'].map((topic) => wakeUps.wait(topic, signal));

  wakeUps.wakeAll();

  await Promise.all(waits);
});
