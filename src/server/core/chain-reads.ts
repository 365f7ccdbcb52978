// The chain reads of public verification: equal reads are shared, callers take turns, and only proven blocks are kept.
import { FairQueue } from '../../base/async/fair-queue.ts';
import type { Chain } from '../../chain/chain.ts';
import type { ProvenBlock } from '../../chain/chain-proof.ts';
import { ProviderError } from '../../chain/errors.ts';
import type { Hex } from '../../proof/bytes.ts';
import { wireError } from '../ports/errors.ts';

/** Reads in progress, of one caller and in total. */
const READS = { ofOneAtOnce: 32, atOnce: 64 };

/** Reads that wait for their turn. A caller has at most 64 verifications in progress. */
const WAITING = { ofOne: 64, inAll: 1024 };
const LONGEST_WAIT_MS = 10_000;

/** Of proven blocks in memory: about 14 000 blocks with an anchor each. */
const KEPT_BYTES = 16 * 1024 * 1024;

/** The chain reads of public verification, each shared by all who ask for the same thing. */
export type ChainReads = Pick<Chain, 'readAnchor' | 'readBlock' | 'readHeads' | 'readProvenBlock'>;

/**
 * Shares the reads of a chain: of a transaction, of a block, and of the heads. Returns the reads of a caller: a source
 * or an account. A read of a transaction or block begins in the first turn that one of its callers gets. Reads reject
 * with `overloaded` for a caller who waits for 10 s, and if the limit of RPC calls is used up.
 *
 * Proven blocks are kept, because nothing can change what a hash proves. All else is read for each call:
 * `readProvenBlock` resolves with null if nothing is proven, whatever the node said.
 */
export function shareChainReads(chain: ChainReads): (caller: string) => ChainReads {
  const turns = new FairQueue({
    ...READS,
    waiting: WAITING,
    longestWaitMs: LONGEST_WAIT_MS,
    refusal: () => wireError('overloaded', 'Too many verifications are in progress.'),
  });
  const kept = new ProvenBlocks(KEPT_BYTES);
  const readAnchor = shareReads((txHash: Hex) => orOverloaded(chain.readAnchor(txHash)), turns);
  const readBlock = shareReads((number: bigint) => orOverloaded(chain.readBlock(number)), turns);
  const readHeads = shareReads(() => orOverloaded(chain.readHeads()));
  const readProvenBlock = shareReads(async (hash: Hex) => {
    // Another caller may have read it since this one asked.
    const block = kept.get(hash) ?? (await unlessFailed(orOverloaded(chain.readProvenBlock(hash))));
    if (block !== null) kept.keep(block);
    return block;
  }, turns);
  return (caller) => ({
    readAnchor: (txHash) => readAnchor(txHash, caller),
    readBlock: (number) => readBlock(number, caller),
    readHeads: () => readHeads(null, caller),
    readProvenBlock: async (hash) => kept.get(hash) ?? readProvenBlock(hash, caller),
  });
}

/** Rejects with `overloaded` instead, if the read failed because a limit of calls is used up. */
async function orOverloaded<Value>(read: Promise<Value>): Promise<Value> {
  return read.catch((error) => {
    if (!(error instanceof ProviderError && error.isExhausted)) throw error;
    throw wireError('overloaded', 'The limit of RPC calls is used up. Retry later.', {
      details: error.details,
    });
  });
}

/** A node that does not answer proves nothing. */
async function unlessFailed<Value>(read: Promise<Value>): Promise<Value | null> {
  return read.catch((error) => {
    if (error instanceof ProviderError) return null;
    throw error;
  });
}

/** Proven blocks by hash. Above the limit, the least recently used ones are dropped. */
export class ProvenBlocks {
  /** In the order of their last use. */
  readonly #blocks = new Map<Hex, ProvenBlock>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get(hash: Hex): ProvenBlock | null {
    const block = this.#blocks.get(hash);
    if (block === undefined) return null;
    this.#blocks.delete(hash);
    this.#blocks.set(hash, block);
    return block;
  }

  keep(block: ProvenBlock): void {
    if (!this.#blocks.has(block.hash)) this.#bytes += bytesOf(block);
    this.#blocks.set(block.hash, block);
    for (const [hash, oldest] of this.#blocks) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#blocks.delete(hash);
      this.#bytes -= bytesOf(oldest);
    }
  }
}

/** An estimate of the memory that a block takes. */
function bytesOf({ anchors }: ProvenBlock): number {
  return 512 + 768 * anchors.size;
}

interface SharedRead<Value> {
  /** Null until one of its callers has a turn. */
  value: Promise<Value> | null;
  /** Aborts then: the other callers need no turn. */
  readonly begun: AbortController;
}

/** Shares reads. Reads of one key never run concurrently, and a caller only gets a read that started after its call. */
export function shareReads<Key, Value>(
  read: (key: Key) => Promise<Value>,
  turns?: FairQueue,
): (key: Key, caller: string) => Promise<Value> {
  const running = new Map<Key, Promise<Value>>();
  /** Reads that have not started, and may get more callers. */
  const next = new Map<Key, SharedRead<Value>>();

  async function begin(key: Key, shared: SharedRead<Value>): Promise<Value> {
    shared.begun.abort();
    while (running.has(key)) await running.get(key)?.catch(() => {});
    close(key, shared);
    const value = read(key);
    running.set(key, value);
    try {
      return await value;
    } finally {
      running.delete(key);
    }
  }

  function close(key: Key, shared: SharedRead<Value>): void {
    if (next.get(key) === shared) next.delete(key);
  }

  return async (key, caller) => {
    const shared = next.get(key) ?? { value: null, begun: new AbortController() };
    next.set(key, shared);
    const start = () => {
      shared.value ??= begin(key, shared);
      return shared.value;
    };
    if (turns === undefined) return start();
    try {
      return await turns.run(caller, start, shared.begun.signal);
    } catch (error) {
      // Another caller got a turn first, or the read failed.
      if (shared.value !== null) return shared.value;
      close(key, shared);
      throw error;
    }
  };
}
