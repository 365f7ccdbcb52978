import { SvcError } from '../../base/svc-error.ts';
import { loadAnchorKeys } from '../../chain/anchor-key.ts';
import { openChain } from '../../chain/chain.ts';
import { reconcile as reconcileQueue } from '../anchorer/reconcile.ts';
import { readConfig } from '../config.ts';
import { withStore } from './with-store.ts';

const ACCEPT =
  'If you know why something else has sent with this key: --yes goes past these nonces. A running server then needs a restart.';

/**
 * `svc-server reconcile`: lets a restored database anchor again, and one whose key something else has used, when the
 * chain holds nothing that it does not know, and nothing foreign that `yes` does not accept. Answers 0 when the queue is free,
 * else 1.
 */
export async function reconcile(
  environment: NodeJS.ProcessEnv,
  { json, yes = false }: { json?: boolean; yes?: boolean },
): Promise<number> {
  const { anchorKeys, rpcUrls, values } = readConfig(environment);
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
  const chain = openChain({ urls: rpcUrls, finalityDepth: values.SVC_ANCHOR_FINALITY_DEPTH });
  try {
    const { findings, foreign } = await withStore(environment, json ? { json } : {}, (store) =>
      reconcileQueue({
        store,
        chain: chain.anchoring,
        addresses,
        isAccepted: yes,
        now: Date.now(),
      }),
    );
    const ok = findings.length === 0 && (foreign.length === 0 || yes);
    const uses = foreign.map(({ sender: { address }, nonce, txHash: tx_hash }) => {
      return { address, nonce, tx_hash };
    });
    const text = [
      ...findings,
      ...uses.map(
        (use) => `${use.address}: nonce ${use.nonce} was used by ${use.tx_hash}, no anchor`,
      ),
      ...(foreign.length > 0 && !ok ? [ACCEPT] : []),
      ...(ok ? ['The queue is free.'] : []),
    ];
    process.stdout.write(
      `${json ? JSON.stringify({ ok, findings, foreign: uses }) : text.join('\n')}\n`,
    );
    return ok ? 0 : 1;
  } finally {
    await chain.close();
  }
}
