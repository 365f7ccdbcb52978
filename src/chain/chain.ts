// The chain as the server sees it: all reads and writes, over the provider pool.
import { encodeFunctionData, formatEther, formatGwei, getAddress, isAddress, parseAbi } from 'viem';
import type { Hex } from '../proof/bytes.ts';
import { broadcast } from './broadcast.ts';
import { type BlockPlace, readChainProof, readProvenBlock } from './chain-proof.ts';
import { addressOf, dataOf, quantityOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import { type FinalityRule, finalityRule } from './finality.ts';
import { findMined, minedByQuorum, type Search } from './find-mined.ts';
import { findNonceUse, type NonceSearch, nonceUseByQuorum } from './find-nonce-use.ts';
import {
  type Identity,
  identityByQuorum,
  identityCalls,
  identityOf,
  identityOn,
  isSameChain,
} from './identity.ts';
import { type InclusionSubject, inclusionByQuorum, readInclusion } from './inclusion.ts';
import type { Provider } from './provider.ts';
import {
  openProviderPool,
  type ProviderPool,
  type ProviderPoolOptions,
  type Question,
} from './provider-pool.ts';
import { readAnchor, readingByQuorum } from './read-anchor.ts';
import {
  blockByQuorum,
  freshHeads,
  newestBlockMs,
  newestByQuorum,
  readBlock,
  readHeads,
} from './read-block.ts';
import { type Ask, resultOf } from './rpc.ts';
import { type SenderStateSubject, senderState, senderStateByQuorum } from './sender-state.ts';
import {
  type ContractClaim,
  isContractSignature,
  mayBeContractSignature,
  startRecovery,
} from './signatures.ts';

/** A chain that was opened by its URLs. */
export type OpenChain = ReturnType<typeof openChain>;

/** The chain operations of the anchorer. They reject with ProviderError when no provider gives a usable answer. */
export type AnchorChain = OpenChain['anchoring'];

/** The chain reads of the use cases. They reject with `chain_unavailable` when the chain cannot be read. */
export type Chain = Omit<OpenChain, 'anchoring' | 'close'>;

export interface ChainOptions extends ProviderPoolOptions {
  /** JSON-RPC endpoints of the same chain, http or https. Never shown in an error. Without any, no read succeeds. */
  readonly urls: readonly string[];
  /** Blocks until finality, counting the including one, instead of the chain's tags; undefined uses the tags. */
  readonly finalityDepth?: number | undefined;
}

const erc20 = parseAbi(['function balanceOf(address) view returns (uint256)']);

/**
 * Opens the chain behind the RPC URLs; connects on the first call. With several URLs, two must agree on everything that
 * a receipt, a verification or a contract wallet's signature depends on. A single URL is trusted.
 */
export function openChain(options: ChainOptions) {
  const pool = openProviderPool(options);
  const finality = finalityRule(options.finalityDepth ?? null);
  const recovery = startRecovery();
  return {
    checksumAddress,
    recoverWallet: recovery.recoverWallet,
    /**
     * Checks an ERC-1271 or ERC-6492 signature. Calls the contract only if it has code or the signature has the 6492
     * suffix.
     */
    async isContractSignature(wallet: string, message: string, signature: Hex): Promise<boolean> {
      if (!mayBeContractSignature(signature)) return false;
      return checkContractSignature(pool, { wallet, message, signature });
    },
    /** ERC-20 balance in the token's smallest unit. */
    tokenBalance: (token: string, wallet: string) =>
      pool.first(({ reading }) => tokenBalance(reading, token, wallet)),
    /** What the chain knows of a transaction, from a read that starts after the call. */
    readAnchor: (txHash: Hex) =>
      pool.pollReading({
        ask: ({ verifying }) => readAnchor(verifying, txHash, { finality }),
        decide: (readings, still) => readingByQuorum(readings, { ...still, quorum: pool.quorum }),
      }),
    /** The block at a number of the canonical chain, from a read that starts after the call; null if there is none. */
    readBlock: (number: bigint) =>
      pool.pollReading({
        ask: ({ verifying }) => readBlock(verifying, number),
        decide: (blocks, still) => blockByQuorum(blocks, { ...still, quorum: pool.quorum }),
      }),
    /** The anchors that the hash of a block covers. As with `anchoring.chainProof`, the hash decides, not who answers. */
    readProvenBlock: (hash: Hex) =>
      firstProof(pool.inTurn(), ({ verifying }) => readProvenBlock(verifying, hash)),
    /** The newest block, and the newest ones that are safe and finalized, from a read that starts after the call. */
    readHeads: () =>
      pool.pollReading({
        ask: ({ verifying }) => readHeads(verifying, finality),
        decide: (heads, { open }) => freshHeads(heads, { quorum: pool.quorum, open }),
      }),
    /** The time of the newest block that a quorum has reached, in ms, from a read that starts after the call. */
    newestBlockMs: () =>
      pool.pollReading({
        ask: ({ reading }) => newestBlockMs(reading),
        decide: (times, { open }) => newestByQuorum(times, { quorum: pool.quorum, open }),
      }),
    /** Number of the newest block. */
    headNumber: () => pool.first(({ reading }) => headNumber(reading)),
    anchoring: anchorChain(pool, finality),
    /** Aborts requests in progress and closes every socket. */
    async close() {
      await Promise.all([pool.close(), recovery.close()]);
    },
  };
}

/**
 * The EIP-55 form of an address; null if the text is not an address. Digits in one case carry no checksum; in mixed case
 * it must be right.
 */
export function checksumAddress(text: string): string | null {
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  const address = isMixed ? text : text.toLowerCase();
  return isAddress(address) ? getAddress(address) : null;
}

/** An amount in wei as ETH, for output. */
export function inEther(wei: bigint): string {
  return `${formatEther(wei)} ETH`;
}

/** An amount in wei as ETH and gwei, for output. */
export function etherText(wei: bigint): string {
  return `${inEther(wei)}, ${formatGwei(wei)} gwei`;
}

function anchorChain(pool: ProviderPool, finality: FinalityRule) {
  const { quorum, providers } = pool;
  const configured = providers.length;
  /** Polls about a chain that must match; a provider of another chain is set aside. */
  const about = <Answer, Verdict>(identity: Identity, question: Question<Answer, Verdict>) => {
    pool.expected = identity;
    return pool.poll({
      ...question,
      ask: async (provider) => {
        const answer = await question.ask(provider);
        provider.health.identified();
        return answer;
      },
    });
  };
  const identify = (blockNumber: number, expected: Identity | null, signal?: AbortSignal) =>
    pool.poll({
      ask: async ({ anchoring, health }) => {
        const answers = await anchoring(identityCalls(blockNumber), signal);
        if (expected === null) return identityOf(answers, blockNumber);
        const named = identityOn(expected, answers);
        if (!isSameChain(named, expected)) health.strayed();
        return named;
      },
      decide: (named, { open }) => identityByQuorum(named, { expected, quorum, configured, open }),
    });
  return {
    /**
     * Identifies the chain behind the URLs. With `expected`, resolves with it as soon as any URL serves that chain.
     * Without it, the chain is identified by block 0, or by a finalized block if too few URLs show block 0. Rejects with
     * SvcError `chain_mismatch` if no URL serves the expected chain, or, without `expected`, if the URLs do not agree.
     */
    async identity(signal?: AbortSignal, expected: Identity | null = null): Promise<Identity> {
      pool.expected ??= expected;
      const identity = await identify(expected?.blockNumber ?? 0, expected, signal);
      if (identity !== null) return identity;
      const { finalized } = await pool.poll({
        ask: ({ anchoring }) => readHeads(anchoring, finality, signal),
        decide: (heads, { open }) => freshHeads(heads, { quorum, open }),
      });
      if (finalized === null) {
        throw new ProviderError('too few providers show block 0, and no block is final yet');
      }
      const bound = await identify(Number(finalized), null, signal);
      if (bound !== null) return bound;
      throw new ProviderError(`too few providers show the finalized block ${finalized}`);
    },
    senderState: (subject: SenderStateSubject, signal?: AbortSignal) =>
      about(subject.identity, {
        ask: ({ anchoring }) => senderState(anchoring, subject, signal),
        decide: (reads, { open, isLate }) =>
          open === 0 || isLate ? senderStateByQuorum(reads) : undefined,
      }),
    /** Never rejects, and takes at most 2.5 seconds. Unless the outcome is `refused`, the transaction may have been sent. */
    broadcast: (rawTx: Hex, signal?: AbortSignal) => broadcast(pool, rawTx, signal),
    findMined(search: Search, signal?: AbortSignal) {
      const { anchors, askAll = false } = search;
      return about(search.identity, {
        ask: ({ anchoring }) => findMined(anchoring, search, signal),
        decide: (voices, still) =>
          minedByQuorum(anchors, voices, { ...still, quorum, configured, askAll }),
      });
    },
    readInclusion: (subject: InclusionSubject, signal?: AbortSignal) =>
      about(subject.identity, {
        ask: ({ anchoring }) => readInclusion(anchoring, subject, finality, signal),
        decide: (voices, { open }) => inclusionByQuorum(subject.places, voices, { quorum, open }),
      }),
    /** Finds the transaction that used a nonce. It counts only if every configured URL shows it. */
    findNonceUse: (search: NonceSearch, signal?: AbortSignal) =>
      about(search.identity, {
        ask: ({ anchoring }) => findNonceUse(anchoring, search, finality, signal),
        decide: (readings, { open }) =>
          open > 0 ? undefined : nonceUseByQuorum(readings, configured),
      }),
    /**
     * Builds the chain proof of a transaction from its block. The URLs are asked in turn until one gives the proof: the
     * hash of the block decides, not who answers. Null if all answer and none gives it.
     */
    chainProof: (place: BlockPlace, signal?: AbortSignal) =>
      firstProof(providers, ({ reading }) => readChainProof(reading, place, signal)),
    /** The health of each URL, in the order of the configuration. Makes no request. */
    providers: () => providers.map((provider) => provider.status()),
  };
}

/** The result of the first provider that has one; null if all answer and none has. */
async function firstProof<Proof>(
  providers: readonly Provider[],
  read: (provider: Provider) => Promise<Proof | null>,
): Promise<Proof | null> {
  const usable = providers.filter(({ health }) => health.isUsable);
  let failure: ProviderError | null = null;
  if (usable.length === 0) failure = new ProviderError('no provider of the expected chain answers');
  for (const provider of usable) {
    try {
      const proof = await read(provider);
      if (proof !== null) return proof;
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
  return null;
}

/** Checks a contract signature. A sign-in depends on it, so several providers must agree. */
function checkContractSignature(pool: ProviderPool, claim: ContractClaim): Promise<boolean> {
  return pool.pollReading({
    ask: ({ reading }) => isContractSignature(reading, claim),
    decide: (verdicts, { open }) => {
      const says = (verdict: boolean) => verdicts.filter((one) => one === verdict).length;
      if (says(true) >= pool.quorum) return true;
      if (says(false) >= pool.quorum) return false;
      if (open > 0) return undefined;
      throw new ProviderError('the providers do not agree on a signature');
    },
  });
}

async function headNumber(ask: Ask): Promise<bigint> {
  const [head] = await ask([{ method: 'eth_blockNumber', params: [] }]);
  return quantityOf(resultOf(head));
}

async function tokenBalance(ask: Ask, token: string, wallet: string): Promise<bigint> {
  const owner = addressOf(wallet);
  const data = encodeFunctionData({ abi: erc20, functionName: 'balanceOf', args: [owner] });
  const [answer] = await ask([{ method: 'eth_call', params: [{ to: token, data }, 'latest'] }]);
  const balance = dataOf(resultOf(answer));
  if (balance.length !== 66) throw new ProviderError('the token has no balance to read');
  return BigInt(balance);
}
