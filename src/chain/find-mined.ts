// Finds the receipts of sent anchors; a quorum of providers decides.
import { parseTransaction } from 'viem';
import type { Hex } from '../proof/bytes.ts';
import {
  headerAt,
  malformed,
  quantityOf,
  receiptOf,
  type TransactionReceipt,
  transactionOf,
} from './decode.ts';
import { ProviderError } from './errors.ts';
import { dataFeeOf, operatorFeeCall } from './fees.ts';
import { askChain, type Identity } from './identity.ts';
import type { Still } from './provider-pool.ts';
import { confirmationsOf } from './read-block.ts';
import { type Ask, askInParts, blockCall, type RpcAnswer, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

/** A sent anchor whose receipt is searched, with all variants of its nonce. */
export interface SentAnchor {
  readonly id: string;
  readonly payload: Hex;
  readonly variants: readonly SentVariant[];
}

interface SentVariant {
  readonly txHash: Hex;
  readonly rawTx: Hex;
}

export interface Search {
  readonly identity: Identity;
  readonly sender: string;
  readonly anchors: readonly SentAnchor[];
  /** With fewer confirmations than this, counting the including block, only the receipt is read. */
  readonly confirmations: bigint;
  /**
   * Wait for every configured URL, so that absence is meaningful. Otherwise the search ends as soon as the URLs still
   * open cannot change the result.
   */
  readonly askAll?: boolean;
}

/** Place and cost of a mined variant. Times in milliseconds since the epoch, amounts in wei. */
export interface MinedTransaction extends Omit<TransactionReceipt, 'status' | keyof Cost>, Cost {
  readonly blockTimestamp: number;
}

interface Cost {
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint;
  /** Data fee and operator fee of an OP-stack L2; 0 elsewhere. */
  readonly dataFeeWei: bigint;
  /** Gas and price are reported by the node, and at most what was signed. Otherwise they are the most that was signed. */
  readonly isReported: boolean;
}

export type MinedAnchor =
  /** Has a receipt, but not yet the confirmations or the second URL that agrees. */
  | { readonly id: string; readonly outcome: 'shallow'; readonly blockNumber: bigint }
  | {
      readonly id: string;
      /** `reverted` and `altered` happen only if the sender has code or a node lies. */
      readonly outcome: 'success' | 'reverted' | 'altered';
      readonly mined: MinedTransaction;
    };

export interface Found {
  /** The lowest head at which any part of the search was read. */
  readonly headNumber: bigint;
  readonly mined: MinedAnchor[];
  /** Anchors of which a URL showed no receipt, and did not say of every variant that there is none. */
  readonly unknown: readonly {
    readonly id: string;
    /** What came instead of an answer, for the log. */
    readonly reason: string;
  }[];
  /** Every configured URL answered: no provider knows an anchor that is missing from `mined`. */
  readonly isUnanimous: boolean;
}

/**
 * Reads the receipts of all variants. For those that are deep enough, also reads the canonical block at their number
 * and the transaction itself. A missing anchor may be pending, unknown to this node, or in a replaced block. Rejects
 * with ProviderError, and with SvcError `chain_mismatch` if another chain answers.
 */
export async function findMined(ask: Ask, search: Search, signal?: AbortSignal): Promise<Found> {
  const { confirmations, sender } = search;
  const { headNumber, found, unknown } = await readReceipts(ask, search, signal);
  const isDeep = ({ receipt }: Match) => confirmationsOf(receipt, headNumber) >= confirmations;
  const deep = await readDetails(ask, sender, found.filter(isDeep), signal);
  const shallow = found
    .filter((match) => !isDeep(match))
    .map(({ anchor, receipt: { blockNumber } }) => ({
      id: anchor.id,
      outcome: 'shallow' as const,
      blockNumber,
    }));
  return { headNumber, mined: [...deep, ...shallow], unknown, isUnanimous: true };
}

interface Match {
  readonly anchor: SentAnchor;
  readonly variant: SentVariant;
  readonly receipt: TransactionReceipt;
}

/**
 * Combines the results of several URLs for one search. A mined anchor counts if `quorum` of them report the same.
 * Undefined while an open answer can still bring that about, or is in time to report what it has seen.
 */
export function minedByQuorum(
  anchors: readonly SentAnchor[],
  results: readonly Found[],
  terms: Still & { quorum: number; configured: number; askAll: boolean },
): Found | undefined {
  const verdicts = anchors.map(({ id }) => {
    const reports = results.map(({ headNumber, mined, unknown }) => ({
      headNumber,
      anchor: mined.find((anchor) => anchor.id === id) ?? null,
      isUnknown: unknown.some((anchor) => anchor.id === id),
    }));
    return verdictOn(reports, terms);
  });
  const canChange = ({ agreed, votes }: Verdict) =>
    !agreed && (!terms.isLate || votes + terms.open >= terms.quorum);
  if (terms.open > 0 && (terms.askAll || verdicts.some(canChange))) return undefined;
  return {
    headNumber: results.map(({ headNumber }) => headNumber).reduce(lesser),
    mined: verdicts.flatMap(({ anchor }) => anchor ?? []),
    unknown: results.flatMap((result) => result.unknown),
    isUnanimous:
      results.length === terms.configured &&
      verdicts.every(({ anchor, isSeen }) => anchor !== null || !isSeen),
  };
}

/** Reads receipts. Every request also reads the head. */
async function readReceipts(
  ask: Ask,
  { identity, anchors }: Search,
  signal?: AbortSignal,
): Promise<Pick<Found, 'headNumber' | 'unknown'> & { found: Match[] }> {
  const sent = anchors.flatMap((anchor) => anchor.variants.map((variant) => ({ anchor, variant })));
  const head = [{ method: 'eth_blockNumber', params: [] }];
  const calls = sent.map(({ variant }) => ({
    method: 'eth_getTransactionReceipt',
    params: [variant.txHash],
  }));
  const parts = await askChain(ask, identity, { head, calls }, signal);
  const answers = parts.flatMap(([, ...receipts]) => receipts);
  const read = sent.map((one, i) => ({ ...one, ...receiptIn(answers[i], one.variant) }));
  const found = read.flatMap(({ receipt, ...one }) => (receipt ? { ...one, receipt } : []));
  const seen = new Set(found.map(({ anchor }) => anchor.id));
  return {
    headNumber: parts.map(([head]) => quantityOf(resultOf(head))).reduce(lesser),
    found,
    unknown: read.flatMap(({ anchor: { id }, reason }) =>
      reason === null || seen.has(id) ? [] : { id, reason },
    ),
  };
}

/** The receipt of a variant, null for none. With a `reason` the node did not say whether there is one. */
function receiptIn(
  answer: RpcAnswer | undefined,
  variant: SentVariant,
): { receipt: TransactionReceipt | null; reason: string | null } {
  try {
    const receipt = receiptOf(resultOf(answer));
    if (receipt !== null && receipt.txHash !== variant.txHash) throw malformed();
    return { receipt, reason: null };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { receipt: null, reason: error.reason };
  }
}

/** The operator fee of an OP-stack L2 at the block of the receipt; 0 where it cannot be read: the operator pays it. */
async function operatorFeeOf(
  ask: Ask,
  { receipt, variant }: Match,
  signal?: AbortSignal,
): Promise<bigint> {
  if (receipt.dataFeeWei === null) return 0n;
  const { gasUsed } = costOf(receipt, variant, null);
  const [answer] = await ask([operatorFeeCall(gasUsed, receipt.blockNumber)], signal);
  try {
    return dataFeeOf(answer);
  } catch (error) {
    if (error instanceof ProviderError) return 0n;
    throw error;
  }
}

/** A report that is missing or above what was signed is replaced: by the gas limit, and by base fee plus signed tip. */
function costOf(
  { gasUsed, effectiveGasPrice, dataFeeWei }: TransactionReceipt,
  { rawTx }: SentVariant,
  baseFee: bigint | null,
): Cost {
  const { gas = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(rawTx);
  const isGas = gasUsed !== null && gasUsed <= gas;
  const isPrice = effectiveGasPrice !== null && effectiveGasPrice <= maxFeePerGas;
  const price = baseFee === null ? maxFeePerGas : baseFee + maxPriorityFeePerGas;
  return {
    gasUsed: isGas ? gasUsed : gas,
    effectiveGasPrice: isPrice ? effectiveGasPrice : lesser(price, maxFeePerGas),
    dataFeeWei: dataFeeWei ?? 0n,
    isReported: isGas && isPrice,
  };
}

async function readDetails(
  ask: Ask,
  sender: string,
  matches: readonly Match[],
  signal?: AbortSignal,
): Promise<MinedAnchor[]> {
  if (matches.length === 0) return [];
  const calls = matches.flatMap(({ receipt }) => [
    blockCall(receipt.blockNumber),
    { method: 'eth_getTransactionByHash', params: [receipt.txHash] },
  ]);
  const details = (await askInParts(ask, { head: [], calls }, signal)).flat();
  const operatorFees = await Promise.all(matches.map((one) => operatorFeeOf(ask, one, signal)));
  return matches.flatMap(({ anchor, variant, receipt }, i) => {
    const block = headerAt(receipt.blockNumber, resultOf(details[2 * i]));
    const tx = transactionOf(resultOf(details[2 * i + 1]));
    const { blockNumber } = receipt;
    // The node has the receipt but not the rest yet: the anchor counts as seen, and is read again later.
    if (tx === null || block === null) return { id: anchor.id, outcome: 'shallow', blockNumber };
    if (block.hash !== receipt.blockHash) return [];
    const self = sender.toLowerCase();
    const intact = tx.input === anchor.payload && tx.from === self && tx.to === self;
    const { status, ...place } = receipt;
    const cost = costOf(receipt, variant, block.baseFeePerGas);
    return {
      id: anchor.id,
      outcome: status === 'reverted' ? status : intact ? 'success' : 'altered',
      mined: {
        ...place,
        ...cost,
        dataFeeWei: cost.dataFeeWei + (operatorFees[i] ?? 0n),
        blockTimestamp: block.timestamp,
      },
    } satisfies MinedAnchor;
  });
}

interface Report {
  readonly headNumber: bigint;
  /** Null: this URL showed no receipt. */
  readonly anchor: MinedAnchor | null;
  /** It did not say whether it has one. */
  readonly isUnknown: boolean;
}

interface Verdict {
  readonly agreed: boolean;
  /** Size of the largest group that reports the same place. */
  readonly votes: number;
  /** Whether any URL has a receipt. */
  readonly isSeen: boolean;
  readonly anchor: MinedAnchor | null;
}

function verdictOn(
  reports: readonly Report[],
  { quorum, askAll }: { quorum: number; askAll: boolean },
): Verdict {
  const seen = reports.flatMap(({ anchor }) => anchor ?? []);
  const most = mostOf(seen.filter(isRead));
  const agreed = most.length >= quorum;
  const [first] = most;
  // With `askAll`, a failure counts only if no provider saw anything better.
  const isDenied = first?.outcome !== 'success' && seen.some(isHopeful);
  const isTaken = agreed && !(askAll && isDenied);
  return {
    agreed,
    votes: most.length,
    isSeen: seen.length > 0,
    anchor: isTaken ? cheapest(most) : seenAt(reports, seen, askAll),
  };
}

function isHopeful({ outcome }: MinedAnchor): boolean {
  return outcome === 'success' || outcome === 'shallow';
}

type ReadAnchor = Exclude<MinedAnchor, { outcome: 'shallow' }>;

function isRead(anchor: MinedAnchor): anchor is ReadAnchor {
  return anchor.outcome !== 'shallow';
}

/** Of equal reports, the one with the lowest cost among those whose cost is reported. */
function cheapest(anchors: readonly ReadAnchor[]): ReadAnchor | null {
  const reported = anchors.filter(({ mined }) => mined.isReported);
  const costs = reported.length > 0 ? reported : anchors;
  const wei = ({ mined }: ReadAnchor) => mined.gasUsed * mined.effectiveGasPrice + mined.dataFeeWei;
  return costs.toSorted((a, b) => (wei(a) < wei(b) ? -1 : 1))[0] ?? null;
}

/** The largest group of reports with the same place and outcome, whatever the cost. */
function mostOf(anchors: readonly ReadAnchor[]): readonly ReadAnchor[] {
  const groups = new Map<string, ReadAnchor[]>();
  for (const anchor of anchors) {
    const key = keyOf(anchor);
    groups.set(key, [...(groups.get(key) ?? []), anchor]);
  }
  return [...groups.values()].reduce<readonly ReadAnchor[]>(
    (most, group) => (group.length > most.length ? group : most),
    [],
  );
}

/**
 * A shallow result for a receipt that no URL at or past its block misses: the other URLs are behind, so it waits for
 * more confirmations. With `askAll` any receipt counts, because absence would mean that no URL has one.
 */
function seenAt(
  reports: readonly Report[],
  seen: readonly MinedAnchor[],
  askAll: boolean,
): MinedAnchor | null {
  const [first] = seen;
  if (first === undefined) return null;
  const blockNumber = seen.map(blockOf).reduce(lesser);
  const isMissed = reports.some(
    ({ anchor, isUnknown, headNumber }) =>
      anchor === null && !isUnknown && headNumber >= blockNumber,
  );
  return isMissed && !askAll ? null : { id: first.id, outcome: 'shallow', blockNumber };
}

function blockOf(anchor: MinedAnchor): bigint {
  return anchor.outcome === 'shallow' ? anchor.blockNumber : anchor.mined.blockNumber;
}

function keyOf({ outcome, mined }: ReadAnchor): string {
  const { txHash, blockNumber, blockHash, txIndex, blockTimestamp } = mined;
  return [outcome, txHash, blockNumber, blockHash, txIndex, blockTimestamp].join();
}
