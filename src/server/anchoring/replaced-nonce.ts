// Detects that a transaction from elsewhere used an attempt's nonce.
import { SvcError } from '../../base/svc-error.ts';
import type { NonceTrail } from '../../chain/find-nonce-use.ts';
import type { NonceUse } from '../../chain/nonce-use.ts';
import { decodePayload } from '../../proof/payload.ts';
import type { OpenAttempt, Variant } from '../ports/anchoring.ts';
import type { AnchoringContext } from './context.ts';
import { isUsed, type LiveAttempt, type LiveAttempts } from './open-attempts.ts';

/** Maximum number of nonces looked up per check; the others follow in later checks. */
const LOOKED_UP = 4;

export interface ReplacedNonces {
  /** Ids of attempts that can never be mined. */
  readonly lost: readonly string[];
  /** Mined transactions of an attempt that this database does not know. */
  readonly adoptable: readonly Adoptable[];
  /** Attempts with an unknown receipt that were looked up: whether every provider shows a transaction of theirs. */
  readonly lookedUp: ReadonlyMap<string, boolean>;
}

interface Adoptable {
  readonly attemptId: string;
  readonly variant: Variant;
}

interface Finding {
  readonly attempt: LiveAttempt;
  readonly use: NonceUse;
  readonly user: NonceUser;
}

/**
 * Looks up which transaction used the nonce of an attempt without a receipt. Absence never ends an attempt; only a
 * transaction that was seen does: one that is no anchor, in a block that every configured provider shows and calls
 * final. While a receipt is unknown, the lookup is repeated: a reorganization may replace what was found.
 */
export function createReplacedNonceWatch(context: AnchoringContext) {
  const { chain, identity, lease, signal, logger } = context;
  /** Search progress by attempt, the most recently looked up last; null: seen once, and not looked up yet. */
  const trails = new Map<string, NonceTrail | null>();
  /** Attempts whose last lookup found them lost. */
  const doubted = new Set<string>();
  const reported = new Set<string>();

  async function lookUp(attempt: LiveAttempt): Promise<Finding | null> {
    const { id, nonce, createdAt } = attempt;
    const trail = trails.get(id) ?? null;
    const search = { identity, sender: lease.sender, nonce, freeAt: createdAt, trail };
    const finding = await chain.findNonceUse(search, signal).catch(nullOnError);
    trails.delete(id);
    trails.set(id, finding?.trail ?? trail);
    const use = finding?.use ?? null;
    return use === null ? null : { attempt, use, user: userOf(attempt, use) };
  }

  /** Ending an attempt cannot be undone, so it needs two lookups in a row that find the attempt lost. */
  function seenTwice(due: readonly LiveAttempt[], lost: ReadonlySet<string>): string[] {
    const again = [...lost].filter((id) => doubted.has(id));
    for (const { id } of due) doubted.delete(id);
    for (const id of lost) doubted.add(id);
    return again;
  }

  function report({ attempt: { id, nonce }, use: { txHash } }: Finding): void {
    if (reported.has(txHash)) return;
    reported.add(txHash);
    logger.error(
      { attempt: id, nonce, tx_hash: txHash },
      'found an unknown anchor at this nonce; another database uses this key',
    );
  }

  return {
    async look(live: LiveAttempts): Promise<ReplacedNonces> {
      // After an error there is no transaction count yet. Keep the progress of searches.
      if (live.counted === null) {
        doubted.clear();
        return { lost: [], adoptable: [], lookedUp: new Map() };
      }
      const suspects = new Map(suspectsOf(live).map((attempt) => [attempt.id, attempt]));
      for (const id of trails.keys()) {
        if (suspects.has(id)) continue;
        trails.delete(id);
        doubted.delete(id);
      }
      const due = [...trails.keys()].slice(0, LOOKED_UP).flatMap((id) => suspects.get(id) ?? []);
      // Wait one check: a nonce that was just counted as used usually has its receipt by then.
      for (const id of suspects.keys()) if (!trails.has(id)) trails.set(id, null);
      const found = (await Promise.all(due.map(lookUp))).flatMap((finding) => finding ?? []);
      const those = (wanted: NonceUser) => found.filter(({ user }) => user === wanted);
      those('stranger').forEach(report);
      const final = those('lost').filter(({ use }) => use.isFinal);
      const failed = await failedOf(
        context,
        those('own').filter(({ use }) => use.isFinal),
      );
      const lost = new Set([...final, ...failed].map(({ attempt }) => attempt.id));
      const own = new Set(those('own').map(({ attempt }) => attempt.id));
      const unknown = due.filter((attempt) => attempt.unknownLookups > 0);
      return {
        lost: seenTwice(due, lost),
        adoptable: those('adoptable').flatMap(({ attempt: { id }, use: { signed } }) =>
          signed === null ? [] : [{ attemptId: id, variant: signed }],
        ),
        lookedUp: new Map(unknown.map(({ id }) => [id, own.has(id)])),
      };
    },
  };
}

/** Stores mined variants that this database does not know. Their receipts are then found like any others. */
export async function adopt(
  { store, lease, clock, logger }: AnchoringContext,
  live: LiveAttempts,
  adoptable: readonly Adoptable[],
): Promise<void> {
  for (const { attemptId, variant } of adoptable) {
    const attempt = live.attempts.find(({ id }) => id === attemptId);
    const isKnown = attempt?.variants.some(({ txHash }) => txHash === variant.txHash) ?? true;
    if (attempt === undefined || isKnown) continue;
    await store.adoptVariant(lease, attemptId, variant, clock.now());
    attempt.variants.push(variant);
    logger.warn(
      { attempt: attemptId, tx_hash: variant.txHash },
      'adopted a mined transaction that was missing from the database',
    );
  }
}

/**
 * What the transaction that used an attempt's nonce means for the attempt.
 * `own`: it is a variant of the attempt.
 * `adoptable`: an anchor of the same payload, signed after the backup from which this database was restored.
 * `stranger`: an anchor of something else, so another database uses the key, perhaps with the same proofs.
 * `lost`: no anchor, or one that the operator attributes to another service.
 */
type NonceUser = 'own' | 'adoptable' | 'stranger' | 'lost';

export function userOf(
  { variants, payload, takenBy }: Pick<OpenAttempt, 'variants' | 'payload' | 'takenBy'>,
  use: NonceUse,
): NonceUser {
  if (variants.some(({ txHash }) => txHash === use.txHash)) return 'own';
  if (use.payload === payload) return 'adoptable';
  return usesAnchor(use) && use.txHash !== takenBy ? 'stranger' : 'lost';
}

/** Whether the transaction that used a nonce is an anchor. */
export function usesAnchor({ payload }: NonceUse): boolean {
  return payload !== null && decodePayload(payload) !== null;
}

/** Attempts whose nonce is used, but with no receipt that shows a variant in a block and successful. */
function suspectsOf(live: LiveAttempts): LiveAttempt[] {
  return live.attempts.filter(
    (attempt) =>
      isUsed(live, attempt) && (!attempt.mined || attempt.failed || attempt.unknownLookups > 0),
  );
}

/** The findings, all of transactions of ours in final blocks, whose receipt says that they failed. */
async function failedOf(
  { chain, identity, lease, signal }: AnchoringContext,
  findings: readonly Finding[],
): Promise<Finding[]> {
  if (findings.length === 0) return [];
  const anchors = findings.map(({ attempt }) => attempt);
  const search = { identity, sender: lease.sender, anchors, confirmations: 1n, askAll: true };
  const found = await chain.findMined(search, signal);
  if (!found.isUnanimous) return [];
  const unknown = new Set(found.unknown.map(({ id }) => id));
  return findings.filter(({ attempt, use }) =>
    found.mined.some(
      (one) =>
        !unknown.has(one.id) &&
        one.id === attempt.id &&
        one.outcome === 'reverted' &&
        one.mined.txHash === use.txHash &&
        one.mined.blockHash === use.blockHash,
    ),
  );
}

/** The lookup of receipts reports a chain that cannot be read; the other findings need not wait for it. */
function nullOnError(error: unknown): null {
  if (error instanceof SvcError) return null;
  throw error;
}
