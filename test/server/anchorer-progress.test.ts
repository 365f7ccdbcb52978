import { afterEach, expect, it, vi } from 'vitest';
import { createTrigger } from '../../src/base/async/triggers.ts';
import { watchProgress } from '../../src/server/anchoring/anchorer.ts';
import { startTestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

afterEach(() => void vi.useRealTimers());

const restingAnchorer = { busySince: () => null };

it('continues while the store answers, and while it refuses', async () => {
  const service = await startTestService();
  const answers = { taken: 0, refused: 0 };
  const probe = async () => {
    try {
      await service.store.probe();
      answers.taken += 1;
    } catch (error) {
      answers.refused += 1;
      throw error;
    }
  };
  const progress = watchProgress({ store: { probe }, anchorer: restingAnchorer }, 5);
  try {
    await waitFor('answers', () => answers.taken > 1);
    await service.close();
    await waitFor('refusals', () => answers.refused > 1);
    const before = performance.now();
    await waitFor('progress after that', () => progress.at() > before);
  } finally {
    progress.stop();
  }
  expect(answers.refused).toBeGreaterThan(1);
});

it('stops from the moment of a store call that is not answered', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  const began = performance.now();
  let asked = 0;
  const probe = () => {
    asked += 1;
    return new Promise<void>(() => {});
  };
  const progress = watchProgress({ store: { probe }, anchorer: restingAnchorer }, 5);
  try {
    vi.advanceTimersByTime(60_000);

    expect([progress.at(), asked]).toEqual([began + 5, 1]);
  } finally {
    progress.stop();
  }
});

it('stops when a round of the anchorer has lasted 5 minutes', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const store = { probe: () => Promise.resolve() };
  const busySince = performance.now() - 5 * 60_000 - 1000;
  const progress = watchProgress({ store, anchorer: { busySince: () => busySince } });
  const standstillMs = performance.now() - progress.at();
  progress.stop();

  expect(standstillMs).toBe(1000);
});

it('continues while an engine waits for its next round', async () => {
  const trigger = createTrigger();
  const begun = trigger.busySince;
  const waiting = trigger.wait(60_000);
  const during = trigger.busySince;
  trigger.wake();
  await waiting;

  expect(begun).not.toBeNull();
  expect(during).toBeNull();
  expect(trigger.busySince).toBeGreaterThanOrEqual(begun ?? 0);
});
