// Finds the transaction that used a nonce, by a search over blocks.
import { headerAt, malformed, numberOf, objectOf } from './decode.ts';
import { type FinalityRule, type Heads, headCalls, headsOf } from './finality.ts';
import { askChain, type Identity } from './identity.ts';
import { type NonceUse, nonceUseOf } from './nonce-use.ts';
import { type Ask, blockCall, type RpcAnswer, resultOf } from './rpc.ts';
import { lesser } from './sender-state.ts';

export interface NonceSearch {
  readonly identity: Identity;
  readonly sender: string;
  readonly nonce: number;
  /** A time at which the nonce was still unused, in ms since the epoch; earlier blocks are not read. */
  readonly freeAt: number;
  /** Where the previous search stopped; null starts a new one. */
  readonly trail: NonceTrail | null;
}

/** Where the next search continues. */
export interface NonceTrail {
  /** Blocks in which a URL saw the transaction. */
  readonly blocks: readonly bigint[];
  /** For nodes without old state: blocks are read one by one downwards from here; null: from the head. */
  readonly below: bigint | null;
}

/** The result of one URL. */
interface NonceReading {
  readonly use: NonceUse | null;
  readonly below: bigint | null;
}

/**
 * Distances from the head at which the sender's count is read first, and the number of parts into which a range is then
 * divided.
 */
const DISTANCES = [0n, 1n, 4n, 16n, 64n, 256n, 1024n, 4096n, 16_384n, 65_536n];
const PARTS = 8n;
/** Maximum number of blocks read with all their transactions per search: they are large. */
const WHOLE = 4n;
/** Tolerance for wrong block timestamps. */
const CLOCK_SKEW_MS = 3_600_000;

/**
 * Finds the sender's transaction with this nonce on the canonical chain of one URL. The sender's transaction counts at
 * old blocks lead to it. A node that does not keep old state is searched a few blocks per call, so null proves nothing.
 * Rejects with ProviderError, and with SvcError `chain_mismatch` if another chain answers.
 */
export async function findNonceUse(
  ask: Ask,
  search: NonceSearch,
  finality: FinalityRule,
  signal?: AbortSignal,
): Promise<NonceReading> {
  const { below = null, blocks = [] } = search.trail ?? {};
  const seen = await readBlocks(ask, search, blocks, { finality, signal });
  if (seen.use !== null) return { use: seen.use, below };
  const range = await narrow(ask, search, seen.head, signal);
  if (range === null) return { use: null, below };
  const isBracketed = range.low !== null && range.high - range.low <= WHOLE;
  const from = isBracketed || below === null ? range.high : lesser(below, range.high);
  const read = await readBlocks(ask, search, downFrom(from, range.low), { finality, signal });
  if (read.use !== null || isBracketed) return { use: read.use, below };
  return { use: null, below: read.isTooOld || from < WHOLE ? null : from - WHOLE };
}

/** Combines the results of all URLs. A repeated anchor may depend on it, so every configured URL must agree. */
export function nonceUseByQuorum(readings: readonly NonceReading[], configured: number) {
  const uses = readings.flatMap(({ use }) => use ?? []);
  const [first] = uses;
  const isShared =
    uses.length === configured &&
    uses.every(
      ({ txHash, blockHash }) => txHash === first?.txHash && blockHash === first.blockHash,
    );
  const unread = readings.flatMap(({ below }) => below ?? []);
  const trail: NonceTrail = {
    blocks: [...new Set(uses.map(({ blockNumber }) => blockNumber))],
    below: unread.length === 0 ? null : unread.reduce(lesser),
  };
  return {
    /** The use that every configured URL shows, final if all say so; null unless all show the same. */
    use:
      first !== undefined && isShared
        ? { ...first, isFinal: uses.every(({ isFinal }) => isFinal) }
        : null,
    /** Where the next search for this nonce continues. */
    trail,
  };
}

interface Range {
  /** The highest block known to precede the transaction; null if no state shows one. */
  readonly low: bigint | null;
  /** The lowest block known to contain or follow the transaction. */
  readonly high: bigint;
}

/**
 * Narrows down the range of blocks. Null if this node says that the nonce is unused. Starts at the head if the node
 * returns no counts at all.
 */
async function narrow(ask: Ask, search: NonceSearch, head: bigint, signal?: AbortSignal) {
  const at = DISTANCES.filter((distance) => distance < head).map((distance) => head - distance);
  let range = await probe(ask, search, { low: null, high: head + 1n }, [...at, 0n], signal);
  if (range.high > head) return range.low === null ? { low: null, high: head } : null;
  while (range.low !== null && range.high - range.low > WHOLE) {
    const narrower = await probe(ask, search, range, between(range.low, range.high), signal);
    if (narrower.low === range.low && narrower.high === range.high) break;
    range = narrower;
  }
  return range;
}

/** Reads the sender's count at several blocks. A refused count, of a block whose state is gone, means nothing. */
async function probe(
  ask: Ask,
  { identity, sender, nonce }: NonceSearch,
  range: Range,
  numbers: readonly bigint[],
  signal?: AbortSignal,
): Promise<Range> {
  const calls = numbers.map((number) => ({
    method: 'eth_getTransactionCount',
    params: [sender, `0x${number.toString(16)}`],
  }));
  const answers = (await askChain(ask, identity, { head: [], calls }, signal)).flat();
  const isUsed = (i: number) => {
    const answer = answers[i];
    return answer?.ok === false
      ? null
      : numberOf(resultOf(answer), 'eth_getTransactionCount') > nonce;
  };
  const used = numbers.filter((_, i) => isUsed(i) === true);
  const high = used.reduce(lesser, range.high);
  const free = numbers.filter((number, i) => isUsed(i) === false && number < high);
  return { low: free.reduce(greatest, range.low), high };
}

function greatest(a: bigint | null, b: bigint): bigint {
  return a === null || b > a ? b : a;
}

function between(low: bigint, high: bigint): bigint[] {
  const steps = Array.from({ length: Number(PARTS) - 1 }, (_, i) => BigInt(i + 1));
  return [...new Set(steps.map((step) => low + ((high - low) * step) / PARTS))].filter(
    (number) => number > low,
  );
}

/** The block and those below it, as many as are read at once, down to the last one at which the nonce was unused. */
function downFrom(high: bigint, low: bigint | null): bigint[] {
  return Array.from({ length: Number(WHOLE) }, (_, i) => high - BigInt(i)).filter(
    (number) => number > (low ?? -1n),
  );
}

interface Read {
  readonly head: bigint;
  readonly use: NonceUse | null;
  readonly isTooOld: boolean;
}

/** Reads heads and blocks in one request, so that both come from the same node. */
async function readBlocks(
  ask: Ask,
  search: NonceSearch,
  blocks: readonly bigint[],
  { finality, signal }: { finality: FinalityRule; signal: AbortSignal | undefined },
): Promise<Read> {
  const head = headCalls(finality);
  const calls = blocks.map((number) => blockCall(number, true));
  const parts = await askChain(ask, search.identity, { head, calls }, signal);
  const rest = [...blocks];
  const reads = await Promise.all(
    parts.map((answers) => {
      const heads = headsOf(answers, finality);
      const shown = answers.slice(head.length);
      return readShown(search, { heads, shown, numbers: rest.splice(0, shown.length) });
    }),
  );
  return {
    head: reads.map((read) => read.head).reduce(lesser),
    use: reads.map((read) => read.use).find((use) => use !== null) ?? null,
    isTooOld: reads.some((read) => read.isTooOld),
  };
}

async function readShown(
  { sender, nonce, freeAt }: NonceSearch,
  {
    heads,
    shown,
    numbers,
  }: { heads: Heads; shown: readonly RpcAnswer[]; numbers: readonly bigint[] },
): Promise<Read> {
  let use: NonceUse | null = null;
  let isTooOld = false;
  for (const [i, number] of numbers.entries()) {
    const answer = shown[i];
    // Some nodes refuse a block that they do not have yet or no longer have.
    const block = answer?.ok === false ? null : resultOf(answer);
    const header = headerAt(number, block);
    if (header === null || number > heads.head) continue;
    isTooOld ||= header.timestamp < freeAt - CLOCK_SKEW_MS;
    const { transactions } = objectOf(block);
    if (!Array.isArray(transactions)) throw malformed();
    use ??= await nonceUseOf(transactions, { sender, nonce, header, heads });
  }
  return { head: heads.head, use, isTooOld };
}
