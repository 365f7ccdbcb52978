import { setTimeout as sleep } from 'node:timers/promises';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { RpcProxy } from '../support/rpc-proxy.ts';
import type { StartingServer } from '../support/server-process.ts';
import type { Occasion } from './fault-points.ts';
import type { MinedChain } from './mined-chain.ts';

export interface Scene {
  readonly chain: MinedChain;
  readonly proxies: readonly RpcProxy[];
  /** That anchor. */
  readonly accounts: readonly PrivateKeyAccount[];
}

/** How long a server that listens may take to come to a point before it is killed where it is. */
export const patienceMs: Record<Occasion, number> = {
  work: 8_000,
  start: 3_000,
  patience: 7_000,
  stop: 3_000,
  gas_refusal: 6_000,
  halt: 6_000,
  theft: 10_000,
};

/** Lets happen what brings a server to a point, until the signal aborts. */
export async function bringAbout(
  occasion: Occasion,
  scene: Scene,
  server: StartingServer,
  signal: AbortSignal,
): Promise<void> {
  switch (occasion) {
    case 'work':
    case 'start':
    case 'patience':
      return;
    case 'stop':
      await pause(300, signal);
      await server.kill('SIGTERM');
      return;
    case 'gas_refusal':
      for (const proxy of scene.proxies) refuseGas(proxy);
      await pause(60_000, signal);
      for (const proxy of scene.proxies) proxy.intercept(() => null);
      return;
    case 'halt':
      await pause(300, signal);
      await scene.chain.whileHalted(() => pause(60_000, signal));
      return;
    case 'theft':
      await stealNonce(scene, signal);
  }
}

function refuseGas(proxy: RpcProxy): void {
  proxy.intercept(({ method }) =>
    method === 'eth_estimateGas' ? { error: { code: 3, message: 'execution reverted' } } : null,
  );
}

/** Puts a transaction that is no anchor in the place of the lowest one that waits. */
async function stealNonce({ chain, accounts }: Scene, signal: AbortSignal): Promise<void> {
  let isStolen = false;
  while (!signal.aborted && !isStolen) {
    isStolen = await chain.whileHalted(async () => {
      await pause(400, signal);
      for (const account of accounts) {
        if (await replaceLowest(chain, account)) return true;
      }
      return false;
    });
    await pause(300, signal);
  }
}

/** Whether the account had a transaction to replace. */
async function replaceLowest(chain: MinedChain, account: PrivateKeyAccount): Promise<boolean> {
  const count = (block: string) =>
    chain.rpc<string>('eth_getTransactionCount', [account.address, block]).then(Number);
  const nonce = await count('latest');
  if ((await count('pending')) === nonce) return false;
  await chain.rpc('anvil_removePoolTransactions', [account.address]);
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: 31_337,
    nonce,
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 200n * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
  });
  await chain.rpc('eth_sendRawTransaction', [raw]);
  await chain.mine();
  return (await count('latest')) > nonce;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => {});
}
