// Finds the receipts of sent anchors; a quorum of providers decides.
import { parseTransaction } from 'viem';
import type { Hex } from '../proof/bytes.ts';
import {
  headerAt,
  quantityOf,
  receiptOf,
  type TransactionReceipt,
  transactionOf,
} from './decode.ts';
import { ProviderError } from './errors.ts';
import { answersOn, type Identity, identityCalls } from './identity.ts';
import type { Still } from './provider-pool.ts';
import { confirmationsOf } from './read-anchor.ts';
import { type Ask, askInParts, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

/** A signed transaction whose receipt is wanted, in all the variants of its nonce. */
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
  /** Blocks, the including one counted, below which no more than the receipt is read. */
  readonly confirmations: bigint;
  /**
   * Waits for every configured URL, so that absence can mean something. Without it the answer comes
   * as soon as no more agreement is to be had from those that are still silent.
   */
  readonly askAll?: boolean;
}

/** Where a variant stands in the canonical chain. Times in ms since the epoch, amounts in wei. */
export interface MinedTransaction {
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly txIndex: number;
  readonly blockTimestamp: number;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint;
  readonly dataFeeWei: bigint;
}

export type MinedAnchor =
  /** Has a receipt, and not yet the confirmations or the second URL that says the same. */
  | { readonly id: string; readonly outcome: 'shallow'; readonly blockNumber: bigint }
  | {
      readonly id: string;
      /** `reverted` and `altered` can only come from a sender with code, or a node that lies. */
      readonly outcome: 'success' | 'reverted' | 'altered';
      readonly mined: MinedTransaction;
    };

export interface Found {
  /** The lowest head that any part of the search was read at. */
  readonly headNumber: bigint;
  readonly mined: MinedAnchor[];
  /** Every configured URL answered: an anchor left out is one that no provider knows. */
  readonly isUnanimous: boolean;
}

/**
 * The receipts of all variants, and of those that are deep enough the block that stands at their number
 * and the transaction itself. An anchor left out may be waiting, unknown to this node, or in a block
 * that was replaced. Rejects with ProviderFault, and with SvcError `chain_mismatch` when another chain
 * answers.
 */
export async function findMined(ask: Ask, search: Search, signal?: AbortSignal): Promise<Found> {
  const { confirmations, sender } = search;
  const { headNumber, found } = await readReceipts(ask, search, signal);
  const isDeep = ({ receipt }: Match) => confirmationsOf(receipt, headNumber) >= confirmations;
  const deep = await readDetails(ask, sender, found.filter(isDeep), signal);
  const shallow = found
    .filter((match) => !isDeep(match))
    .map(({ anchor, receipt: { blockNumber } }) => ({
      id: anchor.id,
      outcome: 'shallow' as const,
      blockNumber,
    }));
  return { headNumber, mined: [...deep, ...shallow], isUnanimous: true };
}

interface Match {
  readonly anchor: SentAnchor;
  readonly receipt: TransactionReceipt;
}

/** Every request names the chain and the head that its receipts were read at. */
async function readReceipts(
  ask: Ask,
  { identity, anchors }: Search,
  signal?: AbortSignal,
): Promise<{ headNumber: bigint; found: Match[] }> {
  const sent = anchors.flatMap((anchor) => anchor.variants.map((variant) => ({ anchor, variant })));
  const head = [...identityCalls, { method: 'eth_blockNumber', params: [] }];
  const calls = sent.map(({ variant }) => ({
    method: 'eth_getTransactionReceipt',
    params: [variant.txHash],
  }));
  const parts = (await askInParts(ask, { head, calls }, signal)).map((part) => {
    const [head, ...receipts] = answersOn(identity, part);
    return { headNumber: quantityOf(resultOf(head)), receipts };
  });
  const answers = parts.flatMap(({ receipts }) => receipts);
  const found = sent.flatMap(({ anchor, variant }, i) => {
    const receipt = receiptOf(resultOf(answers[i]));
    if (receipt?.txHash !== variant.txHash) return [];
    requirePossible(receipt, variant);
    return [{ anchor, receipt }];
  });
  return { headNumber: parts.map(({ headNumber }) => headNumber).reduce(lesser), found };
}

/** What was signed bounds what it can have cost; a charge must not rest on more. */
function requirePossible(receipt: TransactionReceipt, { rawTx }: SentVariant): void {
  const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(rawTx);
  if (receipt.effectiveGasPrice > maxFeePerGas || receipt.gasUsed > gas) {
    throw new ProviderError('a receipt that costs more than was signed');
  }
}

async function readDetails(
  ask: Ask,
  sender: string,
  matches: readonly Match[],
  signal?: AbortSignal,
): Promise<MinedAnchor[]> {
  if (matches.length === 0) return [];
  const calls = matches.flatMap(({ receipt }) => [
    { method: 'eth_getBlockByNumber', params: [`0x${receipt.blockNumber.toString(16)}`, false] },
    { method: 'eth_getTransactionByHash', params: [receipt.txHash] },
  ]);
  const details = (await askInParts(ask, { head: [], calls }, signal)).flat();
  return matches.flatMap(({ anchor, receipt }, i) => {
    const block = headerAt(receipt.blockNumber, resultOf(details[2 * i]));
    const tx = transactionOf(resultOf(details[2 * i + 1]));
    const { blockNumber } = receipt;
    // A node that has the receipt and not the rest yet: seen, and to be looked at again.
    if (tx === null || block === null) return { id: anchor.id, outcome: 'shallow', blockNumber };
    if (block.hash !== receipt.blockHash) return [];
    const self = sender.toLowerCase();
    const intact = tx.input === anchor.payload && tx.from === self && tx.to === self;
    const { status, ...place } = receipt;
    return {
      id: anchor.id,
      outcome: status === 'reverted' ? status : intact ? 'success' : 'altered',
      mined: { ...place, blockTimestamp: block.timestamp },
    } satisfies MinedAnchor;
  });
}

/**
 * What several URLs come to about the same search: a mined anchor counts when `quorum` of them say the
 * same of it. Undefined while an answer still to come can bring that about, or is in time to say what it
 * has seen.
 */
export function minedByQuorum(
  anchors: readonly SentAnchor[],
  voices: readonly Found[],
  terms: Still & { quorum: number; configured: number; askAll: boolean },
): Found | undefined {
  const words = voices.map(({ headNumber, mined }) => ({
    headNumber,
    byId: new Map(mined.map((anchor) => [anchor.id, anchor])),
  }));
  const verdicts = anchors.map(({ id }) =>
    verdictOn(
      words.map(({ headNumber, byId }) => ({ headNumber, anchor: byId.get(id) ?? null })),
      terms,
    ),
  );
  const canChange = ({ agreed, votes }: Verdict) =>
    !agreed && (!terms.isLate || votes + terms.open >= terms.quorum);
  if (terms.open > 0 && (terms.askAll || verdicts.some(canChange))) return undefined;
  return {
    headNumber: words.map(({ headNumber }) => headNumber).reduce(lesser),
    mined: verdicts.flatMap(({ anchor }) => anchor ?? []),
    isUnanimous:
      voices.length === terms.configured &&
      verdicts.every(({ anchor, isSeen }) => anchor !== null || !isSeen),
  };
}

interface Word {
  readonly headNumber: bigint;
  /** Null: this URL knows no receipt. */
  readonly anchor: MinedAnchor | null;
}

interface Verdict {
  readonly agreed: boolean;
  /** How many say what most say of where it was mined. */
  readonly votes: number;
  /** Whether any URL knows a receipt. */
  readonly isSeen: boolean;
  readonly anchor: MinedAnchor | null;
}

function verdictOn(
  words: readonly Word[],
  { quorum, askAll }: { quorum: number; askAll: boolean },
): Verdict {
  const seen = words.flatMap(({ anchor }) => anchor ?? []);
  const most = mostOf(seen.filter(({ outcome }) => outcome !== 'shallow'));
  const agreed = most.length >= quorum;
  const [first] = most;
  // Where all are asked, a failure is to be believed: then nobody may have seen anything better.
  const isDenied = first?.outcome !== 'success' && seen.some(isHopeful);
  const isTaken = agreed && !(askAll && isDenied);
  return {
    agreed,
    votes: most.length,
    isSeen: seen.length > 0,
    anchor: isTaken ? (first ?? null) : seenAt(words, seen, askAll),
  };
}

function isHopeful({ outcome }: MinedAnchor): boolean {
  return outcome === 'success' || outcome === 'shallow';
}

/** The largest group of those that say the same. */
function mostOf(anchors: readonly MinedAnchor[]): readonly MinedAnchor[] {
  const groups = new Map<string, MinedAnchor[]>();
  for (const anchor of anchors) {
    const key = keyOf(anchor);
    groups.set(key, [...(groups.get(key) ?? []), anchor]);
  }
  return [...groups.values()].reduce<readonly MinedAnchor[]>(
    (most, group) => (group.length > most.length ? group : most),
    [],
  );
}

/**
 * A receipt that no URL at or past its block misses: the others are behind, so it waits to be deep. Where all are
 * asked, any receipt, because absence would mean that nobody has one.
 */
function seenAt(
  words: readonly Word[],
  seen: readonly MinedAnchor[],
  askAll: boolean,
): MinedAnchor | null {
  const [first] = seen;
  if (first === undefined) return null;
  const blockNumber = seen.map(blockOf).reduce(lesser);
  const isMissed = words.some((word) => word.anchor === null && word.headNumber >= blockNumber);
  return isMissed && !askAll ? null : { id: first.id, outcome: 'shallow', blockNumber };
}

function blockOf(anchor: MinedAnchor): bigint {
  return anchor.outcome === 'shallow' ? anchor.blockNumber : anchor.mined.blockNumber;
}

function keyOf(anchor: MinedAnchor): string {
  return JSON.stringify(anchor, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}
