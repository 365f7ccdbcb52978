import {
  concatHex,
  getCreate2Address,
  type Hex,
  hexToBytes,
  numberToHex,
  serializeErc6492Signature,
} from 'viem';
import type { TestChain } from './anvil.ts';

/**
 * A wallet that accepts (ERC-1271) the ECDSA signature of `owner`, written as bytecode:
 * hash, v, r and s go from the calldata to ecrecover; a match answers 0x1626ba7e.
 */
export function walletCode(owner: Hex): Hex {
  const runtime = concatHex([
    '0x600435600052', // mem[00] = hash
    '0x60a43560001a602052', // mem[20] = v, the first byte of the word
    '0x606435604052', // mem[40] = r
    '0x608435606052', // mem[60] = s
    '0x602060806080600060015afa50', // ecrecover(mem[00..80]) → mem[80]
    '0x60805173',
    owner,
    '0x14', // mem[80] == owner
    '0x631626ba7e60e01b02', // × the magic value
    '0x60005260206000f3',
  ]);
  const length = numberToHex(hexToBytes(runtime).length, { size: 1 });
  return concatHex(['0x60', length, '0x8060095f395ff3', runtime]);
}

/** Deploys with CREATE2, salt 0, whatever code it is called with. */
const FACTORY_CODE: Hex = '0x600a8060095f395ff3365f5f375f365f5ff500';

export async function deploy(chain: TestChain, from: string, code: Hex): Promise<Hex> {
  const txHash = await chain.rpc<Hex>('eth_sendTransaction', [
    { from, data: code, gas: '0x200000' },
  ]);
  await chain.mine();
  const receipt = await chain.rpc<{ contractAddress: Hex; status: string }>(
    'eth_getTransactionReceipt',
    [txHash],
  );
  if (receipt.status !== '0x1') throw new Error('The contract was not deployed');
  return receipt.contractAddress;
}

export function deployFactory(chain: TestChain, from: string): Promise<Hex> {
  return deploy(chain, from, FACTORY_CODE);
}

/** Where the factory would put a wallet of `owner`, and how a signature of it is wrapped (ERC-6492). */
export function undeployedWallet(factory: Hex, owner: Hex) {
  const code = walletCode(owner);
  return {
    address: getCreate2Address({
      from: factory,
      salt: numberToHex(0, { size: 32 }),
      bytecode: code,
    }),
    wrap: (signature: Hex): Hex =>
      serializeErc6492Signature({ address: factory, data: code, signature }),
  };
}

/**
 * The code of a wallet that approved one message on chain, as a Safe does: it accepts (ERC-1271) this hash with the
 * empty signature, and nothing else.
 */
export function approvedCode(hash: Hex): Hex {
  return concatHex([
    '0x6004357f',
    hash,
    '0x14', // calldata[4..36] == hash
    '0x6044351516', // and the length of the signature is 0
    '0x631626ba7e60e01b02', // × the magic value
    '0x60005260206000f3',
  ]);
}
