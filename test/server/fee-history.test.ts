import { describe, expect, it } from 'vitest';
import { FeeHistory } from '../../src/server/anchoring/status.ts';

const MINUTE = 60_000;

/** After an hour at 10 wei, but for one minute at 900. */
function anHour(): FeeHistory {
  const fees = new FeeHistory();
  for (let minute = 0; minute < 60; minute += 1)
    fees.note(minute === 30 ? 900n : 10n, minute * MINUTE);
  return fees;
}

describe('the fees of the last hour', () => {
  it('report a fee above ten times their median, but not one of exactly ten times', () => {
    const fees = anHour();

    fees.note(100n, 60 * MINUTE);
    const atTen = fees.isJump;
    fees.note(101n, 60 * MINUTE);

    expect([atTen, fees.isJump]).toEqual([false, true]);
  });

  it('report no jump once the fee has fallen, or has been high for most of an hour', () => {
    const fees = anHour();
    fees.note(200n, 60 * MINUTE);
    fees.note(20n, 61 * MINUTE);
    const fallen = fees.isJump;

    for (let minute = 62; minute < 100; minute += 1) fees.note(200n, minute * MINUTE);

    expect([fallen, fees.isJump]).toEqual([false, false]);
  });
});
