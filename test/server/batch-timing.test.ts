import { expect, it } from 'vitest';
import { createBatchTiming } from '../../src/server/anchoring/batch.ts';
import { PAUSES } from '../../src/server/anchoring/context.ts';

const pauses = { ...PAUSES, pollMs: 100, senderStateMs: 2_000, blockMs: 8_000 };

it('moves the block-time estimate by a quarter of the difference', () => {
  const timing = createBatchTiming(pauses);
  timing.note(10n, 0);
  timing.note(11n, 4_000);
  expect(timing.senderStateMs()).toBe(7_000);
  timing.note(12n, 8_000);
  expect(timing.senderStateMs()).toBe(6_250);
});

it('divides the time between two heads by the number of blocks', () => {
  const timing = createBatchTiming(pauses);
  timing.note(10n, 0);
  timing.note(12n, 8_000);
  expect(timing.senderStateMs()).toBe(7_000);
});

it('ignores a head that it has seen', () => {
  const timing = createBatchTiming(pauses);
  timing.note(10n, 0);
  timing.note(10n, 4_000);
  timing.note(9n, 5_000);
  timing.note(11n, 8_000);
  expect(timing.senderStateMs()).toBe(8_000);
});

it('keeps its intervals between their limits, however fast or slow the chain is', () => {
  const fast = createBatchTiming({ ...pauses, blockMs: 8 });
  expect([fast.pollMs(), fast.senderStateMs(), fast.slotMs(4, false)]).toEqual([100, 2_000, 2]);
  const slow = createBatchTiming({ ...pauses, blockMs: 600_000 });
  expect([slow.pollMs(), slow.senderStateMs(), slow.slotMs(4, false)]).toEqual([
    1_000, 15_000, 1_000,
  ]);
});

it('spreads its transactions over the whole block time under load', () => {
  const slow = createBatchTiming({ ...pauses, blockMs: 12_000 });
  expect([slow.slotMs(4, false), slow.slotMs(4, true)]).toEqual([1_000, 3_000]);
});
