// `svc-server reconcile`: compares a restored database with the chain.
import { readFileSync } from 'node:fs';
import { SvcError } from '../../base/svc-error.ts';
import { openChain } from '../../chain/chain.ts';
import { loadAnchorKeys } from '../../chain/keys/anchor-key.ts';
import { type ForeignUse, reconcile as reconcileQueue } from '../anchoring/reconcile.ts';
import { readConfig } from '../config.ts';
import { operator } from '../core/account.ts';
import { withStore } from './database.ts';
import { type Output, print } from './print.ts';

const ACCEPT =
  'If you know what else sent transactions with this key, run reconcile with --yes, and restart a running server.';
const ACCEPT_ANCHOR =
  'The anchor was made by another service with this key, or after the backup. Use a newer backup if there is one. Otherwise run reconcile with --accept-anchor TX_HASH; proofs in that anchor that still wait in this database are anchored again.';
const RESTART = ' Restart a running server: it stopped at these transactions.';
const TX_HASH = /^0x[0-9a-f]{64}$/i;

interface ReconcileOptions extends Output {
  readonly yes?: boolean;
  /** Hashes of accepted anchors. */
  readonly acceptAnchor?: readonly string[];
  /** A file with more of them. */
  readonly acceptAnchorsIn?: string;
}

/**
 * `svc-server reconcile`: lets a restored database, or one whose key was used elsewhere, anchor again, if the database
 * knows every transaction on the chain, or the operator accepts the foreign ones. Returns exit code 0 if the queue was
 * released, else 1.
 */
export async function reconcile(
  environment: NodeJS.ProcessEnv,
  { yes = false, acceptAnchor = [], acceptAnchorsIn, ...options }: ReconcileOptions,
): Promise<number> {
  const accepted = readHashes('--accept-anchor', acceptAnchor);
  if (acceptAnchorsIn !== undefined) {
    const lines = readFileSync(acceptAnchorsIn, 'utf8').split('\n');
    const used = lines.map((line) => line.trim()).filter((line) => line !== '');
    accepted.push(...readHashes(`Each line of ${acceptAnchorsIn}`, used));
  }
  const { anchorKeys, rpcUrls, values } = readConfig(environment);
  if (rpcUrls.length === 0) {
    throw new SvcError('invalid_configuration', 'SVC_CHAIN_RPC_URL is not set.');
  }
  if (anchorKeys.length === 0) {
    // Without the configured keys, transactions that their accounts sent since the backup would go unnoticed.
    throw new SvcError('invalid_configuration', 'SVC_ANCHOR_KEY_FILE is not set.', {
      hint: 'Set the keys that svc-server start will use; reconcile compares their accounts with the chain.',
    });
  }
  const addresses = (await loadAnchorKeys(anchorKeys)).map(({ address }) => address);
  const chain = openChain({ urls: rpcUrls, finalityDepth: values.SVC_ANCHOR_FINALITY_DEPTH });
  try {
    const { findings, foreign, taken } = await withStore(environment, options, (store) =>
      reconcileQueue({
        store,
        chain: chain.anchoring,
        addresses,
        isAccepted: yes,
        acceptedAnchors: accepted,
        now: Date.now(),
        by: operator('reconcile'),
      }),
    );
    const isPassed = foreign.every(({ txHash }) => yes || accepted.includes(txHash));
    const ok = findings.length === 0 && isPassed;
    const lines = [
      ...findings,
      ...[...foreign, ...taken].map(({ sender: { address }, nonce, txHash }) => {
        const what = accepted.includes(txHash) ? 'an accepted anchor' : 'no anchor';
        return `${address}: nonce ${nonce} was used by ${txHash}, ${what}`;
      }),
      ...(isPassed ? [] : [ACCEPT]),
      ...(findings.some((finding) => finding.includes('has an anchor')) ? [ACCEPT_ANCHOR] : []),
      ...(ok
        ? [
            `The database agrees with the chain, and anchoring is not paused.${foreign.length + taken.length > 0 ? RESTART : ''}`,
          ]
        : []),
    ];
    const shown = { ok, findings, foreign: foreign.map(shownUse), taken: taken.map(shownUse) };
    print(shown, lines, options);
    return ok ? 0 : 1;
  } finally {
    await chain.close();
  }
}

/** In lower case. Throws `usage`. */
function readHashes(what: string, hashes: readonly string[]): string[] {
  if (hashes.every((hash) => TX_HASH.test(hash))) return hashes.map((hash) => hash.toLowerCase());
  throw new SvcError('usage', `${what} must be a transaction hash: 0x and 64 hex digits.`);
}

function shownUse({ sender: { address }, nonce, txHash }: ForeignUse) {
  return { address, nonce, tx_hash: txHash };
}
