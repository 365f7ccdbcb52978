import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/base/async/fair-queue.ts';

/** Notes who is served; each turn ends when it is asked to. */
function observe(turns: FairQueue) {
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
  const { served, call, endFirst } = observe(new FairQueue({ atOnce: 4 }));
  call('a', 'a1');
  call('a', 'a2');
  call('a', 'a3');
  await endFirst();
  expect(served).toEqual(['a1', 'a2']);
  await endFirst();
  expect(served).toEqual(['a1', 'a2', 'a3']);
});

it('serves the callers in turn, however many calls one has', async () => {
  const { served, call, endFirst } = observe(new FairQueue({ atOnce: 1 }));
  for (let i = 1; i <= 4; i += 1) call('a', `a${i}`);
  call('b');
  call('c');
  for (let i = 0; i < 5; i += 1) await endFirst();
  expect(served).toEqual(['a1', 'a2', 'b', 'c', 'a3', 'a4']);
});

it('serves up to its limit of callers at once', async () => {
  const { served, call, endFirst } = observe(new FairQueue({ atOnce: 2 }));
  for (const caller of ['a', 'b', 'c']) call(caller);
  await new Promise(setImmediate);
  expect(served).toEqual(['a', 'b']);
  await endFirst();
  expect(served).toEqual(['a', 'b', 'c']);
});

it('continues after work that failed', async () => {
  const turns = new FairQueue({ atOnce: 1 });
  const failed = turns.run('a', () => Promise.reject(new Error('no')));
  const next = turns.run('a', async () => 'served');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('served');
});

it('starts immediately if the queue is empty', () => {
  const { served, call } = observe(new FairQueue({ atOnce: 1 }));

  call('a');

  expect(served).toEqual(['a']);
});

describe('with a limit on waiting calls', () => {
  const refusal = () => new RangeError('too much');
  const bounded = () => new FairQueue({ atOnce: 1, waiting: { ofOne: 4, inAll: 6 }, refusal });

  it('refuses calls above the limit of one key, and of no other key', async () => {
    const turns = bounded();
    const end = await turns.take('a');
    const second = turns.take('a', { size: 3 });

    await expect(turns.take('a', { size: 2 })).rejects.toThrow('too much');

    const other = turns.take('b', { size: 2 });
    end();
    (await second)();
    expect(await other).toBeTypeOf('function');
  });

  it('drops the newest call of the key with the most calls above the total limit', async () => {
    const turns = bounded();
    const end = await turns.take('a');
    const most = turns.take('a', { size: 4 });
    const other = turns.take('b', { size: 2 });

    const small = turns.take('c');

    await expect(most).rejects.toThrow('too much');
    end();
    (await other)();
    await expect(small).resolves.toBeTypeOf('function');
  });

  it('refuses a call above the total limit from the key with the most calls', async () => {
    const turns = bounded();
    await turns.take('a');
    turns.take('b', { size: 2 });
    turns.take('c', { size: 2 });
    turns.take('d', { size: 2 });

    await expect(turns.take('e', { size: 2 })).rejects.toThrow('too much');
  });

  it('has room again once a waiting call is served', async () => {
    const turns = bounded();
    const end = await turns.take('a');
    const second = turns.take('a', { size: 4 });
    end();
    await second;
    const third = turns.take('a', { size: 4 });

    (await second)();

    expect(await third).toBeTypeOf('function');
  });

  it('has room again once a waiting call is aborted, and never serves it', async () => {
    const turns = bounded();
    const end = await turns.take('a');
    const giveUp = new AbortController();
    const left = turns.take('a', { size: 4, signal: giveUp.signal });
    giveUp.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');

    const next = turns.take('a', { size: 4 });
    end();

    expect(await next).toBeTypeOf('function');
  });

  it('refuses a call that was already aborted', async () => {
    const gone = AbortSignal.abort(new Error('gone'));

    await expect(bounded().take('a', { signal: gone })).rejects.toThrow('gone');
  });
});
