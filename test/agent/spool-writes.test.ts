import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GroupWriter } from '../../src/agent/spool/writes.ts';

const KIB = 1024;

/** The names of the writes of each commit. */
let commits: string[][];
/** Why the disk takes no commit. */
let failure: Error | null;
let writer: GroupWriter;

beforeEach(() => {
  vi.useFakeTimers();
  [commits, failure] = [[], null];
  writer = new GroupWriter((work) => {
    commits.push([]);
    work();
    if (failure === null) return;
    commits.pop();
    throw failure;
  });
});

afterEach(() => {
  writer.stop();
  vi.useRealTimers();
});

const put = (name: string) => () => {
  commits.at(-1)?.push(name);
  return name;
};
const putSoon = (count: number, bytes = 0) => {
  for (let n = 0; n < count; n++) writer.writeSoon(put(`${n}`), bytes);
};
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const sizes = () => commits.map(({ length }) => length);

describe('a write', () => {
  it('is committed immediately with all queued writes, in order, and resolves with its result', async () => {
    const soon = writer.writeSoon(put('a'));
    const write = writer.write(put('b'));
    await pass(1);

    expect(commits).toEqual([['a', 'b']]);
    expect(await Promise.all([soon, write])).toEqual(['a', 'b']);
    await pass(1000);
    expect(commits).toHaveLength(1);
  });

  it('without a waiting caller is committed half a second after the first of its group', async () => {
    writer.writeSoon(put('a'));
    await pass(300);
    writer.writeSoon(put('b'));
    await pass(199);
    expect(commits).toEqual([]);

    await pass(1);
    expect(commits).toEqual([['a', 'b']]);
    writer.writeSoon(put('c'));
    await pass(499);
    expect(commits).toHaveLength(1);
    await pass(1);
    expect(commits).toHaveLength(2);
  });

  it('is not committed after the queue is stopped', async () => {
    writer.writeSoon(put('a'));
    writer.stop();
    await pass(1000);

    expect(commits).toEqual([]);
  });
});

describe('a commit', () => {
  it('does not wait if 256 writes are queued', async () => {
    putSoon(255);
    await pass(1);
    expect(commits).toEqual([]);

    putSoon(1);
    await pass(1);
    expect(sizes()).toEqual([256]);
  });

  it('does not wait if 256 KiB are queued', async () => {
    putSoon(1, 256 * KIB - 1);
    await pass(1);
    expect(commits).toEqual([]);

    putSoon(1, 1);
    await pass(1);
    expect(sizes()).toEqual([2]);
    putSoon(1, 256 * KIB - 1);
    await pass(1);
    expect(sizes()).toEqual([2]);
  });

  it('has at most 256 writes', async () => {
    putSoon(600);
    await pass(10);

    expect(sizes()).toEqual([256, 256, 88]);
  });

  it('has at most 256 KiB, or one larger write', async () => {
    for (const kib of [100, 156, 1, 300, 1]) writer.writeSoon(put(`${kib}`), kib * KIB);
    await pass(10);

    expect(commits).toEqual([['100', '156'], ['1'], ['300'], ['1']]);
  });
});

describe('a flush', () => {
  it('commits all that is queued', () => {
    putSoon(300);
    writer.flush();

    expect(sizes()).toEqual([256, 44]);
  });

  it('ends if a commit fails', () => {
    failure = new Error('EIO');
    putSoon(300);
    writer.flush();

    expect(commits).toEqual([]);
    expect(writer.failure).toBe(failure);
  });
});

describe('a commit that fails', () => {
  it('is retried after a second with the writes without a waiting caller, before all later writes', async () => {
    failure = new Error('EIO');
    const soon = writer.writeSoon(put('a'));
    const write = writer.write(put('b'));
    const rejected = expect(write).rejects.toBe(failure);
    await pass(1);
    await rejected;
    expect(writer.failure).toBe(failure);

    failure = null;
    writer.writeSoon(put('c'));
    await pass(998);
    expect(commits).toEqual([]);
    await pass(1);

    expect(commits).toEqual([['a', 'c']]);
    expect(await soon).toBe('a');
    expect(writer.failure).toBeNull();
  });

  it('leaves nothing to retry if every caller was informed', async () => {
    failure = new Error('EIO');
    const rejected = expect(writer.write(put('a'), 256 * KIB)).rejects.toBe(failure);
    await pass(1);
    await rejected;
    expect(writer.failure).toBeNull();

    failure = null;
    putSoon(1);
    await pass(1);
    expect(commits).toEqual([]);
  });

  it('leaves its bytes in the queue', async () => {
    failure = new Error('EIO');
    putSoon(1, 200 * KIB);
    await pass(501);

    failure = null;
    putSoon(1, 56 * KIB);
    await pass(1);
    expect(sizes()).toEqual([2]);
  });
});

describe('the progress', () => {
  it('is the current time if nothing is queued', async () => {
    await pass(700);

    expect(writer.progressAt).toBe(performance.now());
  });

  it('is the time of the last attempt, or before the first attempt the time when the queue filled', async () => {
    failure = new Error('EIO');
    await pass(700);
    const queuedAt = performance.now();
    putSoon(1);
    await pass(100);
    putSoon(1);
    expect(writer.progressAt).toBe(queuedAt);

    await pass(400);
    expect(writer.progressAt).toBe(queuedAt + 500);
    await pass(300);
    expect(writer.progressAt).toBe(queuedAt + 500);
  });
});
