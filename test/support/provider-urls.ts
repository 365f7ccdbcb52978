import { type ChainOptions, type OpenChain, openChain } from '../../src/chain/chain.ts';
import type { SentAnchor } from '../../src/chain/find-mined.ts';
import type { Identity } from '../../src/chain/identity.ts';
import { type AnchorKey, loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { anvilAccounts, startTestChain, type TestChain } from './anvil.ts';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';

export interface SeveralUrls {
  node: TestChain;
  /** Each in front of the same node. */
  proxies: RpcProxy[];
  chain: OpenChain;
  identity: Identity;
  key: AnchorKey;
  payload: Hex;
  /** Signs the next nonce of the key, sends nothing. */
  sign(): Promise<SentAnchor>;
  /** Signs, hands it to the node itself, and mines it. */
  mined(): Promise<SentAnchor>;
  close(): Promise<void>;
}

/** One real chain behind that many URLs, each of which can misbehave by itself. */
export async function startSeveralUrls(
  count: number,
  options: Omit<ChainOptions, 'urls'> = {},
): Promise<SeveralUrls> {
  const node = await startTestChain();
  const proxies = await Promise.all(Array.from({ length: count }, () => startRpcProxy(node.url)));
  const chain = openChain({ ...options, urls: proxies.map(({ url }) => url) });
  const key = await loadAnchorKey({ privateKey: anvilAccounts[0].privateKey });
  const identity = await chain.anchoring.identity();
  const payload: Hex = `0x${'ab'.repeat(68)}`;
  let nonce = 0;
  const sign = async (): Promise<SentAnchor> => {
    const variant = await key.signTransaction({
      chainId: identity.chainId,
      nonce: nonce++,
      payload,
      gas: 60_000n,
      maxFeePerGas: 10_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
    });
    return { id: variant.txHash, payload, variants: [variant] };
  };
  return {
    node,
    proxies,
    chain,
    identity,
    key,
    payload,
    sign,
    async mined() {
      const anchor = await sign();
      await node.rpc('eth_sendRawTransaction', [anchor.variants[0]?.rawTx]);
      await node.mine();
      return anchor;
    },
    async close() {
      await chain.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await node.close();
    },
  };
}
