// `svc-server reconcile`: compares a restored database with the chain.
import { SvcError } from '../../base/svc-error.ts';
import { loadAnchorKeys } from '../../chain/anchor-key.ts';
import { openChain } from '../../chain/chain.ts';
import { type ForeignUse, reconcile as reconcileQueue } from '../anchoring/reconcile.ts';
import { readConfig } from '../config.ts';
import { withStore } from './database.ts';

const ACCEPT =
  'If you know why something else has sent with this key: --yes passes over these nonces. A running server then needs a restart.';
const ACCEPT_ANCHOR =
  'It is of another service with this key, or was made after the backup: use a younger backup if there is one. --accept-anchor TX_HASH passes over it; a proof in it that this database still waits with is anchored again.';
const TX_HASH = /^0x[0-9a-f]{64}$/i;

export interface ReconcileOptions {
  readonly json?: boolean;
  readonly yes?: boolean;
  /** Hashes of accepted anchors. */
  readonly acceptAnchor?: readonly string[];
}

/**
 * `svc-server reconcile`: lets a restored database, or one whose key was used elsewhere, anchor again, if the database
 * knows every transaction on the chain, or the operator accepts the foreign ones. Returns exit code 0 if the queue was
 * released, else 1.
 */
export async function reconcile(
  environment: NodeJS.ProcessEnv,
  { json, yes = false, acceptAnchor = [] }: ReconcileOptions,
): Promise<number> {
  const wrong = acceptAnchor.find((txHash) => !TX_HASH.test(txHash));
  if (wrong !== undefined) {
    throw new SvcError('usage', `${wrong} is not a transaction hash.`);
  }
  const { anchorKeys, rpcUrls, values } = readConfig(environment);
  if (rpcUrls.length === 0) {
    throw new SvcError('invalid_configuration', 'SVC_CHAIN_RPC_URL is not set');
  }
  if (anchorKeys.length === 0) {
    // Without the configured keys, transactions that their accounts sent since the backup would go unnoticed.
    throw new SvcError('invalid_configuration', 'SVC_ANCHOR_KEY_FILE is not set', {
      hint: 'Set the keys that svc-server start will use, so that their accounts are held against the chain too.',
    });
  }
  const addresses = (await loadAnchorKeys(anchorKeys)).map(({ address }) => address);
  const chain = openChain({ urls: rpcUrls, finalityDepth: values.SVC_ANCHOR_FINALITY_DEPTH });
  try {
    const accepted = acceptAnchor.map((txHash) => txHash.toLowerCase());
    const { findings, foreign, taken } = await withStore(
      environment,
      json ? { json } : {},
      (store) =>
        reconcileQueue({
          store,
          chain: chain.anchoring,
          addresses,
          isAccepted: yes,
          acceptedAnchors: accepted,
          now: Date.now(),
        }),
    );
    const isPassed = foreign.every(({ txHash }) => yes || accepted.includes(txHash));
    const ok = findings.length === 0 && isPassed;
    const text = [
      ...findings,
      ...[...foreign, ...taken].map(({ sender: { address }, nonce, txHash }) => {
        const what = accepted.includes(txHash) ? 'an accepted anchor' : 'no anchor';
        return `${address}: nonce ${nonce} was used by ${txHash}, ${what}`;
      }),
      ...(isPassed ? [] : [ACCEPT]),
      ...(findings.some((finding) => finding.includes('has an anchor')) ? [ACCEPT_ANCHOR] : []),
      ...(ok ? ['The queue is free.'] : []),
    ];
    const shown = { ok, findings, foreign: foreign.map(shownUse), taken: taken.map(shownUse) };
    process.stdout.write(`${json ? JSON.stringify(shown) : text.join('\n')}\n`);
    return ok ? 0 : 1;
  } finally {
    await chain.close();
  }
}

function shownUse({ sender: { address }, nonce, txHash }: ForeignUse) {
  return { address, nonce, tx_hash: txHash };
}
