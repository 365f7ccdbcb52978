import { SvcError } from '../../base/svc-error.ts';
import { loadAnchorKey } from '../../chain/anchor-key.ts';
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
  const { values, rpcUrls } = readConfig(environment);
  if (rpcUrls.length === 0) {
    throw new SvcError('invalid_configuration', 'SVC_CHAIN_RPC_URL is not set');
  }
  const address = await configuredAddress(values);
  const chain = openChain({ urls: rpcUrls });
  try {
    const findings = await withStore(environment, json ? { json } : {}, (store) =>
      reconcileQueue({ store, chain: chain.anchoring, addresses: [address], now: Date.now() }),
    );
    const free = findings.length === 0;
    if (json) process.stdout.write(`${JSON.stringify({ ok: free, findings })}\n`);
    else process.stdout.write(free ? 'The queue is free.\n' : `${findings.join('\n')}\n`);
    return free ? 0 : 1;
  } finally {
    await chain.close();
  }
}

/** Without the account that will anchor, what it has sent since the backup would go unseen. */
async function configuredAddress(values: ReturnType<typeof readConfig>['values']): Promise<string> {
  const { SVC_ANCHOR_PRIVATE_KEY: privateKey, SVC_ANCHOR_KEY_FILE: file } = values;
  if (privateKey !== undefined) return (await loadAnchorKey({ privateKey })).address;
  if (file === undefined) {
    throw new SvcError('invalid_configuration', 'SVC_ANCHOR_KEY_FILE is not set', {
      hint: 'Set the key that svc-server start will use, so that its account is held against the chain too.',
    });
  }
  const passwordFile = values.SVC_ANCHOR_KEY_PASSWORD_FILE;
  return (await loadAnchorKey({ file, passwordFile })).address;
}
