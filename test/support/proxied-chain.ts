import { type OpenChain, openChain } from '../../src/chain/chain.ts';
import { startTestChain, type TestChain } from './anvil.ts';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';

export interface ProxiedChain {
  node: TestChain;
  proxy: RpcProxy;
  /** Reaches the node through the proxy. */
  chain: OpenChain;
  close(): Promise<void>;
}

/** A real chain behind a proxy, and the service's own way to it. */
export async function startProxiedChain(): Promise<ProxiedChain> {
  const node = await startTestChain();
  const proxy = await startRpcProxy(node.url);
  const chain = openChain({ urls: [proxy.url] });
  return {
    node,
    proxy,
    chain,
    async close() {
      await chain.close();
      await proxy.close();
      await node.close();
    },
  };
}
