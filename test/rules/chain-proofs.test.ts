import fc from 'fast-check';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { readSignedTransaction } from '../../src/proof/signed-transaction.ts';
import type { UnprovenAnchor } from '../../src/server/ports/anchoring.ts';
import { isSignedAnchor, provesPlace } from '../../src/server/rules/anchoring.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { blockWith } from '../support/synthetic-block.ts';

const payload: Hex = `0x${'ab'.repeat(42)}`;
type Signer = (typeof anvilAccounts)[number];
const [sender, stranger] = anvilAccounts;

async function signed(changes: { to?: Hex; value?: bigint; data?: Hex } = {}, by: Signer = sender) {
  const account = privateKeyToAccount(by.privateKey);
  const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n, gas: 30_000n };
  const to = account.address;
  return account.signTransaction({
    ...{ type: 'eip1559', chainId: 31_337, nonce: 0, ...fees, to, data: payload, ...changes },
  });
}

async function anchorOf(rawTx: Hex): Promise<UnprovenAnchor> {
  const { blockNumber, blockHash, txIndex } = blockWith(rawTx);
  const { hash: txHash } = readSignedTransaction(rawTx);
  const place = { blockNumber, blockHash, txIndex, txHash, rawTx };
  return { attemptId: 'a', chainId: 31_337, sender: sender.address, payload, tries: 1, ...place };
}

describe('a chain proof', () => {
  it('proves the place of an anchor by its header and path', async () => {
    const anchor = await anchorOf(await signed());

    expect(provesPlace(anchor, blockWith(anchor.rawTx).proof)).toBe(true);
    expect(provesPlace({ ...anchor, txIndex: 0 }, blockWith(anchor.rawTx).proof)).toBe(false);
    expect(provesPlace({ ...anchor, blockNumber: 6n }, blockWith(anchor.rawTx).proof)).toBe(false);
    expect(provesPlace(anchor, blockWith(anchor.rawTx, 6n).proof)).toBe(false);
    expect(provesPlace({ ...anchor, rawTx: '0x02' }, blockWith(anchor.rawTx).proof)).toBe(false);
  });

  it('proves nothing once any byte of it is changed', async () => {
    const anchor = await anchorOf(await signed());
    const { header, nodes } = blockWith(anchor.rawTx).proof;
    const parts = [header, ...nodes];
    const places = parts.flatMap((part, at) =>
      Array.from({ length: part.length - 2 }, (_, digit) => ({ at, digit: digit + 2 })),
    );

    fc.assert(
      fc.property(fc.constantFrom(...places), fc.integer({ min: 1, max: 15 }), (place, by) => {
        const [changed, ...path] = parts.map((part, at): Hex => {
          if (at !== place.at) return part;
          const digit = (Number.parseInt(part[place.digit] ?? '0', 16) ^ by).toString(16);
          return `${part.slice(0, place.digit)}${digit}${part.slice(place.digit + 1)}` as Hex;
        });
        expect(provesPlace(anchor, { header: changed ?? '0x', nodes: path })).toBe(false);
      }),
    );
  });
});

describe('a signed transaction', () => {
  it('is the recorded anchor', async () => {
    expect(isSignedAnchor(await anchorOf(await signed()))).toBe(true);
  });

  it.each<[string, Partial<UnprovenAnchor>]>([
    ['of another chain', { chainId: 1 }],
    ['of another sender', { sender: stranger.address }],
    ['with another hash', { txHash: payload }],
    ['with other calldata', { payload: '0x' }],
    ['that is none', { rawTx: '0x02' }],
  ])('is not one %s', async (_, changes) => {
    expect(isSignedAnchor({ ...(await anchorOf(await signed())), ...changes })).toBe(false);
  });

  it.each<[string, Parameters<typeof signed>[0]]>([
    ['to another account', { to: stranger.address }],
    ['of some value', { value: 1n }],
  ])('is not one %s', async (_, changes) => {
    expect(isSignedAnchor(await anchorOf(await signed(changes)))).toBe(false);
  });

  it('is not an anchor if another account sent it to the sender', async () => {
    const raw = await signed({ to: sender.address }, stranger);

    expect(isSignedAnchor(await anchorOf(raw))).toBe(false);
  });
});
