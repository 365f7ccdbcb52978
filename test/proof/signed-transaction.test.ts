import { parseTransaction } from 'viem';
import { describe, expect, it } from 'vitest';
import { readSignedTransaction } from '../../src/proof/signed-transaction.ts';

describe('readSignedTransaction', () => {
  it('reads the example of EIP-155', () => {
    const raw =
      '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83';

    expect(readSignedTransaction(raw)).toMatchObject({
      chainId: 1n,
      from: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f',
      to: '0x3535353535353535353535353535353535353535',
      value: 10n ** 18n,
      input: parseTransaction(raw).data ?? '0x',
    });
  });
});
