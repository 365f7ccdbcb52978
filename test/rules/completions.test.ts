import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompletionSituation, decideCompletion } from '../../src/server/rules/completions.ts';
import { reservation } from '../../src/server/rules/credits.ts';

const status = fc.constantFrom('claimed' as const, 'verified' as const);
const state = fc.constantFrom(
  null,
  ...(['queued', 'submitted', 'included', 'finalized', 'reorged', 'failed'] as const),
);
const task = fc.record({ status, state });
const wei = fc.bigInt({ min: 0n, max: 10n ** 20n });
const quote = fc.record({
  singleGas: fc.bigInt({ min: 21_000n, max: 100_000n }),
  baseFeePerGas: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  maxPriorityFeePerGas: fc.bigInt({ min: 0n, max: 10n ** 10n }),
  dataFeeWei: wei,
});
const situation = fc.record({
  hasKey: fc.boolean(),
  task: fc.option(task),
  lacksStatement: fc.boolean(),
  balance: fc.option(fc.record({ anchorQuota: fc.nat({ max: 3 }), gasCreditWei: wei })),
  quote: fc.option(quote),
});
type Situation = CompletionSituation<{
  status: 'claimed' | 'verified';
  state: null | 'queued' | 'failed';
}>;
const allowed: Situation = {
  hasKey: true,
  lacksStatement: false,
  task: { status: 'claimed', state: null },
  balance: { anchorQuota: 1, gasCreditWei: 300n },
  quote: { singleGas: 100n, baseFeePerGas: 1n, maxPriorityFeePerGas: 0n, dataFeeWei: 100n },
};

describe('a completion', () => {
  it('reserves exactly the gas of its quote, and never more than the account has', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const decision = decideCompletion(given);

        if (decision.outcome !== 'queued' || given.quote === null) return;
        expect(decision.gasWei).toBe(reservation(given.quote));
        expect(decision.gasWei <= (given.balance?.gasCreditWei ?? -1n)).toBe(true);
        expect(given.balance?.anchorQuota).toBeGreaterThanOrEqual(1);
      }),
    );
  });

  it('is queued only for a claimed task that has no completion, or a failed one', () => {
    fc.assert(
      fc.property(situation, (given) => {
        if (decideCompletion(given).outcome !== 'queued') return;

        expect(given).toMatchObject({
          hasKey: true,
          lacksStatement: false,
          task: { status: 'claimed' },
        });
        expect([null, 'failed']).toContain(given.task?.state);
      }),
    );
  });

  it.each<[string, string, Partial<Situation>]>([
    ['the last wei of the credit', 'queued', {}],
    ['one wei less', 'no_gas_credit', { balance: { anchorQuota: 1, gasCreditWei: 299n } }],
    ['a chain that was never reached', 'no_fee_quote', { quote: null }],
    ['no anchor left', 'no_anchor_quota', { balance: { anchorQuota: 0, gasCreditWei: 300n } }],
    ['no account', 'no_anchor_quota', { balance: null }],
    ['a verified task', 'already_completed', { task: { status: 'verified', state: null } }],
    [
      'a completion in the queue',
      'completion_in_progress',
      { task: { status: 'claimed', state: 'queued' } },
    ],
    ['a failed completion', 'queued', { task: { status: 'claimed', state: 'failed' } }],
    ['another robot’s task', 'not_found', { task: null }],
    ['a replaced key', 'key_revoked', { hasKey: false }],
    ['a missing statement', 'statement_required', { lacksStatement: true }],
  ])('with %s is %s', (_, outcome, change) => {
    expect(decideCompletion({ ...allowed, ...change })).toMatchObject({ outcome });
  });

  it('is refused for the first reason in the order of the checks', () => {
    const nothing = {
      hasKey: false,
      lacksStatement: true,
      task: null,
      balance: null,
      quote: null,
    };

    expect(decideCompletion(nothing).outcome).toBe('key_revoked');
    expect(decideCompletion({ ...nothing, hasKey: true }).outcome).toBe('statement_required');
    expect(decideCompletion({ ...nothing, hasKey: true, lacksStatement: false }).outcome).toBe(
      'not_found',
    );
    expect(decideCompletion({ ...allowed, balance: null, quote: null }).outcome).toBe(
      'no_anchor_quota',
    );
    const poor = { anchorQuota: 1, gasCreditWei: 0n };
    expect(decideCompletion({ ...allowed, balance: poor, quote: null }).outcome).toBe(
      'no_fee_quote',
    );
  });
});
