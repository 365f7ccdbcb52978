import type { AnchorChain } from '../../chain/chain.ts';
import type { ChainIdentity } from '../core/anchor-store.ts';
import type { OperationsStore, Sender } from '../core/operations-store.ts';
import type { Store } from '../core/ports.ts';
import { dearestSingle } from './batch.ts';

export interface ReconcileDependencies {
  readonly store: Pick<Store, keyof OperationsStore | 'bindChain' | 'getChainIdentity'>;
  readonly chain: AnchorChain;
  /** Accounts that may anchor for this database, beside those that it knows. */
  readonly addresses: readonly string[];
  readonly now: number;
}

/**
 * Holds the chain against a restored database, and lifts the hold of the accounts it looked at when every nonce
 * that the chain has seen of them is one the database knows. Answers what is not explained; empty when nothing is left.
 * Rejects with `chain_mismatch`, or ProviderFault when the chain cannot be read.
 */
export async function reconcile(deps: ReconcileDependencies): Promise<string[]> {
  const { store, chain, now } = deps;
  const identity = await chain.identity();
  if ((await store.getChainIdentity()) !== null) await store.bindChain(identity);
  const known = (await store.listSenders()).filter(({ chainId }) => chainId === identity.chainId);
  const strangers = deps.addresses
    .filter((address) => !known.some((sender) => sender.address === address))
    .map((address) => ({ ...identity, address, nextNonce: null, openAttempts: [] }));
  const findings: string[] = [];
  const senders = [...known, ...strangers];
  for (const sender of senders) {
    findings.push(...(await unexplained({ chain, identity }, sender)));
  }
  if (findings.length === 0) await store.liftHold(senders, now);
  return findings;
}

interface BoundChain {
  readonly chain: AnchorChain;
  readonly identity: ChainIdentity;
}

async function unexplained(bound: BoundChain, sender: Sender): Promise<string[]> {
  const { address, nextNonce } = sender;
  const { chain, identity } = bound;
  const subject = { identity, sender: address, payload: dearestSingle };
  const { latestNonce, pendingNonce } = await chain.survey(subject);
  const highest = Math.max(latestNonce, pendingNonce);
  if (nextNonce === null) {
    if (highest === 0) return [];
    return [`${address}: has sent transactions, and this database knows none of them`];
  }
  const findings: string[] = [];
  if (highest > nextNonce) {
    findings.push(
      `${address}: the chain knows nonces ${nextNonce} to ${highest - 1}, this database does not`,
    );
  }
  return [...findings, ...(await lost(bound, sender, latestNonce))];
}

/** Nonces that are used on the chain, and not by the transactions stored for them. */
async function lost(
  { chain, identity }: BoundChain,
  sender: Sender,
  latestNonce: number,
): Promise<string[]> {
  const used = sender.openAttempts.filter(({ nonce }) => nonce < latestNonce);
  if (used.length === 0) return [];
  const search = { identity, sender: sender.address, anchors: used, confirmations: 1n };
  const { mined } = await chain.findMined(search);
  const found = new Set(mined.filter(({ outcome }) => outcome === 'success').map(({ id }) => id));
  return used
    .filter(({ id }) => !found.has(id))
    .map(({ nonce }) => `${sender.address}: nonce ${nonce} was used by another transaction`);
}
