import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { Store } from '../../src/server/ports/store.ts';

const sender = { chainId: 31337, address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' };

/** Stores a fee quote as an anchorer would, so that completions queue and are not anchored. */
export async function letCompletionsIn(store: Store): Promise<Lease> {
  await store.bindChain({
    chainId: sender.chainId,
    blockNumber: 0,
    blockHash: `0x${'0'.repeat(64)}`,
  });
  const lease = await store.acquireLease(sender, 'test', 60_000, Date.now());
  if (lease === null) throw new Error('The lease is taken');
  const quote = {
    singleGas: 30_000n,
    baseFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    dataFeeWei: 0n,
  };
  await store.saveChainStatus(lease, { quote, degraded: [], parked: 0, now: Date.now() });
  return lease;
}
