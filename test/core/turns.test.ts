import { expect, it } from 'vitest';
import { Turns } from '../../src/server/core/turns.ts';
import { failsWith } from '../contract/world.ts';

/** Notes who is served; each turn ends when it is asked to. */
function observe(turns: Turns) {
  const served: string[] = [];
  const ends: (() => void)[] = [];
  return {
    served,
    call(caller: string, name = caller) {
      return turns.run(caller, () => {
        served.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    },
    async endFirst() {
      await new Promise(setImmediate);
      ends.shift()?.();
      await new Promise(setImmediate);
    },
  };
}

it('serves one caller with one call at a time, in order', async () => {
  const { served, call, endFirst } = observe(new Turns({ atOnce: 4, waiting: 9 }));
  call('a', 'a1');
  call('a', 'a2');
  call('a', 'a3');
  await endFirst();
  expect(served).toEqual(['a1', 'a2']);
  await endFirst();
  expect(served).toEqual(['a1', 'a2', 'a3']);
});

it('serves the callers by turns, however many calls one has', async () => {
  const { served, call, endFirst } = observe(new Turns({ atOnce: 1, waiting: 9 }));
  for (let i = 1; i <= 4; i += 1) call('a', `a${i}`);
  call('b');
  call('c');
  for (let i = 0; i < 5; i += 1) await endFirst();
  expect(served).toEqual(['a1', 'a2', 'b', 'c', 'a3', 'a4']);
});

it('serves as many callers at once as it may', async () => {
  const { served, call, endFirst } = observe(new Turns({ atOnce: 2, waiting: 9 }));
  for (const caller of ['a', 'b', 'c']) call(caller);
  await new Promise(setImmediate);
  expect(served).toEqual(['a', 'b']);
  await endFirst();
  expect(served).toEqual(['a', 'b', 'c']);
});

it('goes on after work that failed', async () => {
  const turns = new Turns({ atOnce: 1, waiting: 9 });
  const failed = turns.run('a', () => Promise.reject(new Error('no')));
  const next = turns.run('a', async () => 'served');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('served');
});

it('refuses a call of a caller of whom too many wait, and of nobody else', async () => {
  const { call, served, endFirst } = observe(new Turns({ atOnce: 1, waiting: 2 }));
  for (let i = 0; i < 3; i += 1) call('a');
  call('b');

  await expect(call('a')).rejects.toMatchObject(failsWith('overloaded'));

  for (let i = 0; i < 3; i += 1) await endFirst();
  expect(served).toEqual(['a', 'a', 'b', 'a']);
});
