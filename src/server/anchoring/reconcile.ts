// Compares a restored database with the chain before it may anchor again.
import type { AnchorChain } from '../../chain/chain.ts';
import type { NonceTrail } from '../../chain/find-nonce-use.ts';
import type { NonceUse } from '../../chain/nonce-use.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Actor } from '../ports/account.ts';
import type { ChainIdentity, SenderKey } from '../ports/anchoring.ts';
import type { OperationsStore, Sender } from '../ports/operations.ts';
import type { Store } from '../ports/store.ts';
import { dearestSingle } from './batch.ts';
import { userOf, usesAnchor } from './replaced-nonce.ts';

interface ReconcileDependencies {
  readonly store: Pick<Store, keyof OperationsStore | 'bindChain' | 'getChainIdentity'>;
  readonly chain: AnchorChain;
  /** Accounts that may anchor for this database, in addition to those it knows. */
  readonly addresses: readonly string[];
  /** The operator accepts that the nonces of `foreign` were used elsewhere. */
  readonly isAccepted: boolean;
  /** Hashes, in lower case, of another service's anchors. None of their proofs is from this database. */
  readonly acceptedAnchors: readonly string[];
  readonly now: number;
  /** For the audit log. */
  readonly by?: Actor;
}

interface Reconciliation {
  /** Unexplained nonces. If there are any, nothing was changed. */
  readonly findings: string[];
  /**
   * Final transactions from elsewhere, above every nonce that the database knows. They are no anchors, or accepted
   * ones.
   */
  readonly foreign: ForeignUse[];
  /** Accepted, final anchors that used nonces of open attempts. */
  readonly taken: ForeignUse[];
}

export interface ForeignUse {
  readonly sender: SenderKey;
  readonly nonce: number;
  readonly txHash: Hex;
}

/** Maximum number of unknown nonces looked up for one account. More than these are not just a stray transaction. */
const MOST_UNKNOWN = 64;
/** Maximum number of searches for one nonce; each continues the one before. */
const MOST_SEARCHES = 256;

/**
 * Compares the database with the chain. Lifts the hold of the accounts it checked if every nonce that the chain has
 * seen of them is explained. Nonces in `foreign` count as explained once they are accepted; an anchor among them must
 * be accepted by its hash. Rejects with `chain_mismatch`, or with ProviderError when the chain cannot be read.
 */
export async function reconcile(deps: ReconcileDependencies): Promise<Reconciliation> {
  const { store, chain, now } = deps;
  const isAcceptedAnchor = (txHash: Hex) => deps.acceptedAnchors.includes(txHash);
  const identity = await chain.identity(undefined, await store.getChainIdentity());
  const known = (await store.listSenders()).filter(({ chainId }) => chainId === identity.chainId);
  const unknown = deps.addresses
    .filter((address) => !known.some((sender) => sender.address === address))
    .map((address) => ({ ...identity, address, nextNonce: null, openAttempts: [] }));
  const senders = [...known, ...unknown];
  const results = await Promise.all(
    senders.map((sender) => compareSender({ chain, identity, isAcceptedAnchor }, sender)),
  );
  const findings = results.flatMap((one) => one.findings);
  const foreign = results.flatMap((one) => one.foreign);
  const taken = results.flatMap((one) => one.taken);
  const all = { findings, foreign, taken };
  const isAccepted = foreign.every(({ txHash }) => deps.isAccepted || isAcceptedAnchor(txHash));
  if (findings.length > 0 || !isAccepted) return all;
  for (const [i, sender] of senders.entries()) {
    const { foreign = [], taken = [] } = results[i] ?? {};
    if (foreign.length > 0) await store.recordForeignNonces(sender, foreign, now);
    if (taken.length > 0) await store.recordTakenNonces(sender, taken, now, deps.by);
  }
  await store.liftHold(senders, now);
  return all;
}

interface BoundChain {
  readonly chain: AnchorChain;
  readonly identity: ChainIdentity;
  readonly isAcceptedAnchor: (txHash: Hex) => boolean;
}

async function compareSender(bound: BoundChain, sender: Sender): Promise<Reconciliation> {
  const { address, nextNonce } = sender;
  const { chain, identity } = bound;
  const subject = { identity, sender: address, payload: dearestSingle };
  const { latestNonce, pendingNonce } = await chain.senderState(subject);
  const highest = Math.max(latestNonce, pendingNonce);
  if (nextNonce === null) {
    const text = `${address}: has sent transactions, and this database knows none of them`;
    return { findings: highest === 0 ? [] : [text], foreign: [], taken: [] };
  }
  const { findings, taken } = await compareAttempts(bound, sender, latestNonce);
  const foreign: ForeignUse[] = [];
  if (highest <= nextNonce) return { findings, foreign, taken };
  if (highest > latestNonce || latestNonce - nextNonce > MOST_UNKNOWN) {
    const text = `the chain knows nonces ${nextNonce} to ${highest - 1}, this database does not`;
    return { findings: [...findings, `${address}: ${text}`], foreign, taken };
  }
  for (let nonce = nextNonce; nonce < latestNonce; nonce += 1) {
    const use = await search(bound, { address, nonce, freeAt: 0 });
    const reason = problemOf(bound, use);
    if (reason !== null) findings.push(`${address}: nonce ${nonce} ${reason}`);
    else if (use !== null) foreign.push({ sender, nonce, txHash: use.txHash });
  }
  return { findings, foreign, taken };
}

/** Why a transaction from elsewhere does not explain a used nonce; null if it does. */
function problemOf({ isAcceptedAnchor }: BoundChain, use: NonceUse | null): string | null {
  if (use === null) return 'was used by a transaction that no provider shows, or not all of them';
  const { txHash } = use;
  if (usesAnchor(use) && !isAcceptedAnchor(txHash)) {
    return `has an anchor that this database does not know: ${txHash}`;
  }
  return use.isFinal ? null : `was used by ${txHash}, which is not final yet`;
}

/** Checks open attempts whose nonce is used on the chain, but not by their own transactions. */
async function compareAttempts(bound: BoundChain, sender: Sender, latestNonce: number) {
  const { chain, identity } = bound;
  const { address, openAttempts } = sender;
  const used = openAttempts.filter(({ nonce }) => nonce < latestNonce);
  const findings: string[] = [];
  const taken: ForeignUse[] = [];
  if (used.length === 0) return { findings, taken };
  const { mined } = await chain.findMined({
    identity,
    sender: address,
    anchors: used,
    confirmations: 1n,
  });
  const found = new Set(mined.filter(({ outcome }) => outcome === 'success').map(({ id }) => id));
  for (const attempt of used.filter(({ id }) => !found.has(id))) {
    const { nonce, createdAt } = attempt;
    const use = await search(bound, { address, nonce, freeAt: createdAt });
    const user = use === null ? null : userOf(attempt, use);
    // The anchor loop handles these by itself: it adopts the one and follows the other.
    if (user === 'adoptable' || user === 'own') continue;
    const reason = problemOf(bound, use);
    if (reason !== null) findings.push(`${address}: nonce ${nonce} ${reason}`);
    else if (use !== null && user === 'stranger') taken.push({ sender, nonce, txHash: use.txHash });
  }
  return { findings, taken };
}

async function search(
  { chain, identity }: BoundChain,
  { address, nonce, freeAt }: { address: string; nonce: number; freeAt: number },
): Promise<NonceUse | null> {
  let trail: NonceTrail | null = null;
  for (let searches = 0; searches < MOST_SEARCHES; searches += 1) {
    const finding = await chain.findNonceUse({ identity, sender: address, nonce, freeAt, trail });
    if (finding.use !== null) return finding.use;
    // The providers do not agree on what they saw, or there is nothing left to read.
    const isRepeated = trail !== null && finding.trail.blocks.length > 0;
    if (isRepeated || (finding.trail.blocks.length === 0 && finding.trail.below === null)) {
      return null;
    }
    trail = finding.trail;
  }
  return null;
}
