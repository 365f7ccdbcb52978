import type { AnchorChain } from '../../chain/chain.ts';
import type { NonceTrail } from '../../chain/find-nonce-use.ts';
import type { NonceUse } from '../../chain/nonce-use.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { ChainIdentity } from '../core/anchor-store.ts';
import type { OperationsStore, Sender, SenderKey } from '../core/operations-store.ts';
import type { Store } from '../core/ports.ts';
import { dearestSingle } from './batch.ts';
import { fateOf, isAnchor } from './nonce-fate.ts';

export interface ReconcileDependencies {
  readonly store: Pick<Store, keyof OperationsStore | 'bindChain' | 'getChainIdentity'>;
  readonly chain: AnchorChain;
  /** Accounts that may anchor for this database, beside those that it knows. */
  readonly addresses: readonly string[];
  /** Goes past the nonces of `foreign`. */
  readonly isAccepted: boolean;
  readonly now: number;
}

export interface Reconciliation {
  /** What is not explained; with any, nothing was changed. */
  readonly findings: string[];
  /** Transactions that are no anchors, from elsewhere, final, above every nonce that the database knows. */
  readonly foreign: ForeignUse[];
}

interface ForeignUse {
  readonly sender: SenderKey;
  readonly nonce: number;
  readonly txHash: Hex;
}

/** Nonces that are looked up for one account; more than these are another matter than a stray transaction. */
const MOST_UNKNOWN = 64;
/** Searches for one nonce, where each goes on from the one before. */
const MOST_SEARCHES = 256;

/**
 * Holds the chain against the database, and lifts the hold of the accounts it looked at when every nonce that the chain
 * has seen of them is explained. Nonces of `foreign` are, once that is accepted.
 * Rejects with `chain_mismatch`, or ProviderFault when the chain cannot be read.
 */
export async function reconcile(deps: ReconcileDependencies): Promise<Reconciliation> {
  const { store, chain, now } = deps;
  const identity = await chain.identity();
  if ((await store.getChainIdentity()) !== null) await store.bindChain(identity);
  const known = (await store.listSenders()).filter(({ chainId }) => chainId === identity.chainId);
  const strangers = deps.addresses
    .filter((address) => !known.some((sender) => sender.address === address))
    .map((address) => ({ ...identity, address, nextNonce: null, openAttempts: [] }));
  const senders = [...known, ...strangers];
  const findings: string[] = [];
  const foreign: ForeignUse[] = [];
  for (const sender of senders) {
    const held = await holdAgainst({ chain, identity }, sender);
    findings.push(...held.findings);
    foreign.push(...held.foreign);
  }
  if (findings.length > 0 || (foreign.length > 0 && !deps.isAccepted)) return { findings, foreign };
  for (const sender of senders) {
    const uses = foreign.filter((use) => use.sender.address === sender.address);
    if (uses.length > 0) await store.recordForeignNonces(sender, uses, now);
  }
  await store.liftHold(senders, now);
  return { findings, foreign };
}

interface BoundChain {
  readonly chain: AnchorChain;
  readonly identity: ChainIdentity;
}

async function holdAgainst(bound: BoundChain, sender: Sender): Promise<Reconciliation> {
  const { address, nextNonce } = sender;
  const { chain, identity } = bound;
  const subject = { identity, sender: address, payload: dearestSingle };
  const { latestNonce, pendingNonce } = await chain.survey(subject);
  const highest = Math.max(latestNonce, pendingNonce);
  if (nextNonce === null) {
    const text = `${address}: has sent transactions, and this database knows none of them`;
    return { findings: highest === 0 ? [] : [text], foreign: [] };
  }
  const findings = await unexplainedAttempts(bound, sender, latestNonce);
  if (highest <= nextNonce) return { findings, foreign: [] };
  if (highest > latestNonce || latestNonce - nextNonce > MOST_UNKNOWN) {
    const text = `the chain knows nonces ${nextNonce} to ${highest - 1}, this database does not`;
    return { findings: [...findings, `${address}: ${text}`], foreign: [] };
  }
  const foreign: ForeignUse[] = [];
  for (let nonce = nextNonce; nonce < latestNonce; nonce += 1) {
    const use = await search(bound, { address, nonce, freeAt: 0 });
    const reason = strangeness(use);
    if (reason !== null) findings.push(`${address}: nonce ${nonce} ${reason}`);
    else if (use !== null) foreign.push({ sender, nonce, txHash: use.txHash });
  }
  return { findings, foreign };
}

/** Why a use of a nonce is not explained by a transaction from elsewhere; null when it is. */
function strangeness(use: NonceUse | null): string | null {
  if (use === null) return 'was used by a transaction that no provider shows, or not all of them';
  if (isAnchor(use)) return `has an anchor that this database does not know: ${use.txHash}`;
  return use.isFinal ? null : `was used by ${use.txHash}, which is not final yet`;
}

/** Nonces that are used on the chain, and not by the transactions stored for them. */
async function unexplainedAttempts(
  bound: BoundChain,
  { address, openAttempts }: Sender,
  latestNonce: number,
): Promise<string[]> {
  const { chain, identity } = bound;
  const used = openAttempts.filter(({ nonce }) => nonce < latestNonce);
  if (used.length === 0) return [];
  const { mined } = await chain.findMined({
    identity,
    sender: address,
    anchors: used,
    confirmations: 1n,
  });
  const found = new Set(mined.filter(({ outcome }) => outcome === 'success').map(({ id }) => id));
  const findings: string[] = [];
  for (const attempt of used.filter(({ id }) => !found.has(id))) {
    const { nonce, createdAt } = attempt;
    const use = await search(bound, { address, nonce, freeAt: createdAt });
    const fate = use === null ? null : fateOf(attempt, use);
    // The engine takes these up itself: it adopts the one, and follows the other.
    if (fate === 'adoptable' || fate === 'own') continue;
    const reason = strangeness(use);
    if (reason !== null) findings.push(`${address}: nonce ${nonce} ${reason}`);
  }
  return findings;
}

async function search(
  { chain, identity }: BoundChain,
  { address, nonce, freeAt }: { address: string; nonce: number; freeAt: number },
): Promise<NonceUse | null> {
  let trail: NonceTrail | null = null;
  for (let searches = 0; searches < MOST_SEARCHES; searches += 1) {
    const finding = await chain.findNonceUse({ identity, sender: address, nonce, freeAt, trail });
    if (finding.use !== null) return finding.use;
    // Seen before and not agreed on, or nothing left to be read.
    const isRepeated = trail !== null && finding.trail.blocks.length > 0;
    if (isRepeated || (finding.trail.blocks.length === 0 && finding.trail.below === null)) {
      return null;
    }
    trail = finding.trail;
  }
  return null;
}
