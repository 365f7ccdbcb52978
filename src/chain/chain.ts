import { encodeFunctionData, getAddress, isAddress, parseAbi } from 'viem';
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { addressOf, dataOf, quantityOf } from './decode.ts';
import { type BroadcastOutcome, broadcastOutcome, ProviderFault } from './errors.ts';
import { type CountSubject, finalizedCount } from './finalized-count.ts';
import { type Found, findMined, type Search } from './find-mined.ts';
import { type Identity, identityCalls, identityOf } from './identity.ts';
import { openLane } from './lane.ts';
import { type AnchorReading, readAnchor } from './read-anchor.ts';
import { type Ask, connectRpc, type RpcOptions, resultOf } from './rpc.ts';
import { isContractSignature, recoverWallet } from './signatures.ts';
import { readStandings, type Standings, type StandingsSubject } from './standings.ts';
import { type Survey, type SurveySubject, survey } from './survey.ts';

/** What the anchorer does with the chain. Every call rejects with ProviderFault when it cannot be asked. */
export interface AnchorChain {
  /**
   * The chain behind the URLs. With `expected` the answer is that one as soon as any URL is of it.
   * Rejects with SvcError `chain_mismatch` when none is, or when without it the URLs do not agree.
   */
  identity(signal?: AbortSignal, expected?: Identity | null): Promise<Identity>;
  survey(subject: SurveySubject, signal?: AbortSignal): Promise<Survey>;
  /** Never rejects, and takes 2.5 seconds at most: what is not known to be refused may have been sent. */
  broadcast(rawTx: Hex, signal?: AbortSignal): Promise<BroadcastOutcome>;
  findMined(search: Search, signal?: AbortSignal): Promise<Found>;
  readStandings(subject: StandingsSubject, signal?: AbortSignal): Promise<Standings>;
  /**
   * The sender's transaction count at the finalized block, the lowest that any URL says; null unless
   * every configured URL answered. Never rejects.
   */
  finalizedCount(subject: CountSubject, signal?: AbortSignal): Promise<number | null>;
  /** How each URL does, in the order of the configuration. Asks nobody. */
  providers(): ProviderStatus[];
}

export interface ProviderStatus {
  /** `rpc-1` and so on; nothing of the URL. */
  readonly label: string;
  /** `wrong_chain`: it is set aside until it is of the expected chain again. */
  readonly state: 'healthy' | 'unhealthy' | 'wrong_chain';
  /** What went wrong last, for the log; null when nothing ever did. */
  readonly lastReason: string | null;
  /** 0 to 1, by latency and recent faults. */
  readonly score: number;
}

/** The reads of the use cases; each rejects with `chain_unavailable` when the chain cannot be read. */
export interface OpenChain {
  checksumAddress(text: string): string | null;
  recoverWallet(message: string, signature: Hex): Promise<string | null>;
  isContractSignature(wallet: string, message: string, signature: Hex): Promise<boolean>;
  tokenBalance(token: string, wallet: string): Promise<bigint>;
  readAnchor(txHash: Hex): Promise<AnchorReading>;
  headNumber(): Promise<bigint>;
  readonly anchoring: AnchorChain;
  /** Ends what is under way, leaves no socket behind. */
  close(): Promise<void>;
}

const CONTRACT_CHECKS = { width: 4, waiting: 16 };
const erc20 = parseAbi(['function balanceOf(address) view returns (uint256)']);

export interface ChainOptions extends Omit<RpcOptions, 'url'> {
  /** One or more JSON-RPC endpoints of the same chain. */
  readonly urls: readonly string[];
  /** Blocks, the including one counted, that stand for the chain's own tags; left out: the tags. */
  readonly finalityDepth?: number | undefined;
}

/**
 * The chain behind the RPC URLs. Connects on the first call.
 *
 * @throws SvcError `invalid_rpc_url`.
 */
export function openChain({ urls, finalityDepth: depth, ...options }: ChainOptions): OpenChain {
  const rpc = connectRpc({ ...options, url: urls[0] ?? '' });
  const finalityDepth = depth ?? null;
  const contractChecks = openLane(CONTRACT_CHECKS);
  return {
    checksumAddress,
    recoverWallet,
    isContractSignature: (wallet, message, signature) =>
      isContractSignature(rpc.reading, contractChecks, { wallet, message, signature }),
    tokenBalance: (token, wallet) => tokenBalance(rpc.reading, token, wallet),
    readAnchor: (txHash) => readAnchor(rpc.reading, txHash, { finalityDepth }),
    headNumber: async () => {
      const [head] = await rpc.reading([{ method: 'eth_blockNumber', params: [] }]);
      return quantityOf(resultOf(head));
    },
    anchoring: {
      identity: async (signal) => identityOf(await rpc.anchoring(identityCalls, signal)),
      survey: (subject, signal) => survey(rpc.anchoring, subject, signal),
      broadcast: (rawTx, signal) => broadcast(rpc.broadcasting, rawTx, signal),
      findMined: (search, signal) => findMined(rpc.anchoring, search, signal),
      readStandings: (subject, signal) =>
        readStandings(rpc.anchoring, subject, finalityDepth, signal),
      finalizedCount: (subject, signal) =>
        finalizedCount(rpc.anchoring, subject, finalityDepth, signal).catch(nullOnFault),
      providers: () => [{ label: 'rpc-1', state: 'healthy', lastReason: null, score: 1 }],
    },
    close: () => rpc.close(),
  };
}

/** Null unless the text is an address; its case carries nothing. */
export function checksumAddress(text: string): string | null {
  const address = text.toLowerCase();
  return isAddress(address) ? getAddress(address) : null;
}

async function broadcast(ask: Ask, rawTx: Hex, signal?: AbortSignal): Promise<BroadcastOutcome> {
  try {
    const [answer] = await ask([{ method: 'eth_sendRawTransaction', params: [rawTx] }], signal);
    if (answer !== undefined && !answer.ok) return broadcastOutcome(answer.refusal);
    return { outcome: 'accepted' };
  } catch (error) {
    if (error instanceof ProviderFault) return { outcome: 'unknown', reason: error.reason };
    throw error;
  }
}

function nullOnFault(error: unknown): null {
  if (error instanceof SvcError) return null;
  throw error;
}

async function tokenBalance(ask: Ask, token: string, wallet: string): Promise<bigint> {
  const owner = addressOf(wallet);
  const data = encodeFunctionData({ abi: erc20, functionName: 'balanceOf', args: [owner] });
  const [answer] = await ask([{ method: 'eth_call', params: [{ to: token, data }, 'latest'] }]);
  const balance = dataOf(resultOf(answer));
  if (balance.length !== 66) throw new ProviderFault('the token has no balance to read');
  return BigInt(balance);
}
