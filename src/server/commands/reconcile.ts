import { SvcError } from '../../base/svc-error.ts';
import { loadAnchorKeys } from '../../chain/anchor-key.ts';
import { openChain } from '../../chain/chain.ts';
import { reconcile as reconcileQueue } from '../anchorer/reconcile.ts';
import { readConfig } from '../config.ts';
import { withStore } from './with-store.ts';

/**
 * `svc-server reconcile`: lets a restored database anchor again, when the chain holds nothing that it does
 * not know. Answers 0 when the queue is free, else 1.
 */
export async function reconcile(
  environment: NodeJS.ProcessEnv,
  { json }: { json?: boolean },
): Promise<number> {
  const { anchorKeys, rpcUrls } = readConfig(environment);
  if (rpcUrls.length === 0) {
    throw new SvcError('invalid_configuration', 'SVC_CHAIN_RPC_URL is not set');
  }
  if (anchorKeys.length === 0) {
    // Without the accounts that will anchor, what they have sent since the backup would go unseen.
    throw new SvcError('invalid_configuration', 'SVC_ANCHOR_KEY_FILE is not set', {
      hint: 'Set the keys that svc-server start will use, so that their accounts are held against the chain too.',
    });
  }
  const addresses = (await loadAnchorKeys(anchorKeys)).map(({ address }) => address);
  const chain = openChain({ urls: rpcUrls });
  try {
    const findings = await withStore(environment, json ? { json } : {}, (store) =>
      reconcileQueue({ store, chain: chain.anchoring, addresses, now: Date.now() }),
    );
    const free = findings.length === 0;
    if (json) process.stdout.write(`${JSON.stringify({ ok: free, findings })}\n`);
    else process.stdout.write(free ? 'The queue is free.\n' : `${findings.join('\n')}\n`);
    return free ? 0 : 1;
  } finally {
    await chain.close();
  }
}
