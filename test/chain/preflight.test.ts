import { describe, expect, it } from 'vitest';
import type { SenderState } from '../../src/chain/sender-state.ts';
import { type PreflightTerms, preflight } from '../../src/server/anchoring/preflight.ts';

const senderState: SenderState = {
  headNumber: 100n,
  latestNonce: 3,
  lowestNonce: 3,
  pendingNonce: 3,
  balance: 10n ** 18n,
  hasCode: false,
  baseFeePerGas: 10n,
  maxPriorityFeePerGas: 2n,
  gas: { outcome: 'estimated', gas: 24_000n, most: 30_000_000n },
  dataFeeWei: 0n,
};
const terms: PreflightTerms = {
  nextNonce: 3,
  lowestUnmined: 3,
  isCountSettled: true,
  feesInFlight: 0n,
  maxFeePerGas: 1_000n,
  maxGas: 2_000_000n,
  payloadBytes: 42,
};

describe('preflight', () => {
  it('signs at twice the base fee plus the tip, with gas to spare', () => {
    expect(preflight(senderState, terms)).toEqual({
      decision: 'sign',
      nonce: 3,
      gas: 30_000n,
      maxFeePerGas: 22n,
      maxPriorityFeePerGas: 2n,
    });
  });

  it('signs with room for a fork that raises the price of calldata', () => {
    const gas = { outcome: 'estimated', gas: 14_700n, most: 30_000_000n } as const;

    expect(preflight({ ...senderState, gas }, terms)).toMatchObject({ gas: 21_000n + 64n * 42n });
  });

  it.each([
    ['a quarter of a block', { most: 108_000n }, {}, 27_000n],
    ['what the operator allows', {}, { maxGas: 26_000n }, 26_000n],
    [
      'what a transaction may have',
      { gas: 16_000_000n, most: 10n ** 9n },
      { maxGas: 10n ** 9n },
      2n ** 24n,
    ],
  ])('signs a gas limit of at most %s', (_, given, limits, gas) => {
    const estimate = { outcome: 'estimated', gas: 24_000n, most: 30_000_000n, ...given } as const;
    const state = { ...senderState, balance: 10n ** 30n, gas: estimate };

    expect(preflight(state, { ...terms, ...limits })).toMatchObject({ decision: 'sign', gas });
  });

  it('signs at the cap where the base fee and the tip fit below it', () => {
    expect(preflight(senderState, { ...terms, maxFeePerGas: 12n })).toMatchObject({
      decision: 'sign',
      maxFeePerGas: 12n,
    });
  });

  it('takes the first nonce from the chain', () => {
    expect(preflight(senderState, { ...terms, nextNonce: null })).toMatchObject({ nonce: 3 });
  });

  it('continues from the nonce of the store while earlier ones are in flight', () => {
    expect(preflight(senderState, { ...terms, nextNonce: 7 })).toMatchObject({ nonce: 7 });
  });

  it.each<[string, Partial<SenderState>, Partial<PreflightTerms>]>([
    ['sender_has_code', { hasCode: true }, {}],
    ['sender_busy', { pendingNonce: 4 }, { nextNonce: null }],
    ['first_nonce', {}, { nextNonce: null, isCountSettled: false }],
    ['nonce_conflict', { latestNonce: 4 }, {}],
    ['nonce_behind', { latestNonce: 2 }, {}],
    ['nonce_behind', { latestNonce: 2 }, { nextNonce: 9 }],
    ['fee_cap', {}, { maxFeePerGas: 11n }],
    ['gas_cap', {}, { maxGas: 23_999n }],
    ['underfunded', { gas: { outcome: 'underfunded' } }, {}],
    ['underfunded', { balance: 30_000n * 22n - 1n }, {}],
    ['underfunded', { balance: 30_000n * 22n, dataFeeWei: 1n }, {}],
    ['underfunded', { balance: 30_000n * 22n }, { feesInFlight: 1n }],
  ])('waits for %s (%o %o)', (reason, seen, given) => {
    expect(preflight({ ...senderState, ...seen }, { ...terms, ...given })).toEqual({
      decision: 'wait',
      reason,
    });
  });

  it('refuses only proofs that the estimate refuses', () => {
    const gas = { outcome: 'refused', meaning: 'reverted', reason: 'execution reverted' } as const;

    expect(preflight({ ...senderState, gas }, terms)).toEqual({
      decision: 'refuse',
      meaning: 'reverted',
      reason: 'execution reverted',
    });
  });

  it('refuses no proof for an account that cannot sign', () => {
    const gas = { outcome: 'refused', meaning: 'reverted', reason: 'execution reverted' } as const;

    expect(preflight({ ...senderState, gas, hasCode: true }, terms)).toMatchObject({
      decision: 'wait',
    });
  });
});
