import fc from 'fast-check';
import { keccak256, type TransactionSerializable } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { describe, expect } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { readSignedTransaction } from '../../src/proof/signed-transaction.ts';
import { itHolds } from '../support/property.ts';
import { sign } from '../support/proven-bundle.ts';

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`);
const wei = fc.bigInt(0n, 2n ** 96n);
const accessList = fc.array(
  fc.record({ address: hex(20), storageKeys: fc.array(hex(32), { maxLength: 3 }) }),
  { maxLength: 3 },
);
const common = {
  chainId: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 2 ** 40 })),
  nonce: fc.nat(),
  gas: fc.bigInt(0n, 2n ** 40n),
  to: fc.option(hex(20)),
  value: wei,
  data: fc.oneof(hex(0), hex(1), hex(42), hex(70), hex(300)),
};
const fees = fc
  .tuple(wei, wei)
  .map(([tip, more]) => ({ maxFeePerGas: tip + more, maxPriorityFeePerGas: tip }));

/** Transactions of type 0, 1 and 2. */
const transaction = fc.oneof(
  fc.record({ ...common, type: fc.constant('legacy'), gasPrice: wei }),
  fc.record({ ...common, type: fc.constant('eip2930'), gasPrice: wei, accessList }),
  fc
    .tuple(fc.record({ ...common, type: fc.constant('eip1559'), accessList }), fees)
    .map(([tx, fee]) => ({ ...tx, ...fee })),
) as fc.Arbitrary<TransactionSerializable>;
const privateKey = hex(32).filter((key) => BigInt(key) > 0n && BigInt(key) < 2n ** 255n);

describe('readSignedTransaction', () => {
  itHolds('reads what viem signs, with the account of the key', 500, (numRuns) => {
    const property = fc.property(transaction, privateKey, (tx, key) => {
      const raw = sign(tx, key);

      expect(readSignedTransaction(raw)).toEqual({
        hash: keccak256(raw),
        chainId: BigInt(tx.chainId ?? 0),
        from: privateKeyToAddress(key).toLowerCase(),
        to: tx.to ?? null,
        value: tx.value,
        input: tx.data,
      });
    });
    fc.assert(property, { numRuns });
  });

  itHolds('finds another account, or none, with any byte changed', 100, (numRuns) => {
    const mask = fc.integer({ min: 1, max: 255 });
    const property = fc.property(transaction, privateKey, fc.nat(), mask, (tx, key, at, change) => {
      const raw = sign(tx, key);
      const bytes = Buffer.from(raw.slice(2), 'hex');
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ change;
      const sender = privateKeyToAddress(key).toLowerCase();
      let from: string | null = null;
      try {
        ({ from } = readSignedTransaction(`0x${bytes.toString('hex')}`));
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }

      expect(from).not.toBe(sender);
    });
    fc.assert(property, { numRuns });
  });

  itHolds('throws nothing but a TypeError, whatever the bytes', 5000, (numRuns) => {
    const start = fc.constantFrom('0x01', '0x02', '0x');
    const property = fc.property(start, fc.uint8Array({ maxLength: 200 }), (type, bytes) => {
      const raw = `${type}${Buffer.from(bytes).toString('hex')}` as Hex;
      expect(() => readSignedTransaction(raw)).toThrow(TypeError);
    });
    fc.assert(property, { numRuns });
  });
});
