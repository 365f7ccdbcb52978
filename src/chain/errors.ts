import { SvcError } from '../base/svc-error.ts';
import { errors } from '../protocol/errors.ts';

/**
 * The chain could not be asked: no answer, or one that means nothing. Whether a request reached the
 * node is unknown. `reason` is for the log; it holds nothing of the URL or the request.
 */
export class ProviderFault extends SvcError<'chain_unavailable'> {
  readonly reason: string;
  /** How long the endpoint asked to be left alone; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(reason: string, options: { retryAfterMs?: number | null } = {}) {
    const { retryAfterMs = null } = options;
    super('chain_unavailable', 'The chain cannot be read now', {
      retryable: errors.chain_unavailable.retryable,
      details:
        retryAfterMs === null ? {} : { retry_after: Math.max(1, Math.ceil(retryAfterMs / 1000)) },
    });
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The node answered a call with a JSON-RPC error. `reason` is the node's text, redacted. */
export interface RpcRefusal {
  readonly rpcCode: number;
  readonly reason: string;
}

export type RefusalMeaning =
  | 'already_known'
  | 'nonce_used'
  | 'underfunded'
  | 'underpriced'
  | 'not_accepted'
  | 'reverted'
  | 'gas_limit'
  | 'provider_fault';

/**
 * What nodes say, once. The first row that fits decides, so the provider's own troubles come before
 * the words of a node. Sources: geth core/txpool/errors.go and core/error.go, anvil and reth
 * rpc-eth-types, nethermind AcceptTxResult, erigon txpoolcfg DiscardReason, besu
 * TransactionInvalidReason and RpcErrorType.
 */
const refusals: readonly { readonly meaning: RefusalMeaning; readonly words: RegExp }[] = [
  {
    meaning: 'provider_fault',
    words:
      /rate.?limit|too many requests|limit exceeded|quota|capacity|timed? ?out|deadline exceeded|unavailable|header not found|missing trie node|overloaded|try again/i,
  },
  {
    meaning: 'already_known',
    words:
      /already ?known|\bknown transaction\b(?! type)|already imported|existing tx with same hash/i,
  },
  {
    meaning: 'nonce_used',
    words: /nonce (is )?too low|old ?nonce|nonce below current|invalid nonce; got .* expected/i,
  },
  {
    meaning: 'underfunded',
    words:
      /insufficient ?funds|insufficient balance|insufficient MaxFee|upfront cost exceeds|exceeds account balance|gas required exceeds allowance \(0\)/i,
  },
  {
    meaning: 'underpriced',
    words:
      /underpriced|fee ?too ?low|less than block base fee|lower than the (block )?base fee|below (the )?(current base fee|configured minimum)|max fee per gas|replacement ?not ?allowed|could not replace existing/i,
  },
  {
    meaning: 'not_accepted',
    words:
      /nonce too high|nonce ?gap|too distant from|tx ?pool is full|pool limit|invalid chain ?id|chain id|invalid sender|exceeds the configured cap|authority already reserved|in-flight transaction limit/i,
  },
  {
    meaning: 'reverted',
    words: /revert|vm execution error|invalid opcode|invalid jump|stack (under|over)flow/i,
  },
  {
    meaning: 'gas_limit',
    words:
      /exceeds (the )?(block|transaction) gas limit|gas limit reached|gas required exceeds|intrinsic gas too (low|high)|intrinsic gas exceeds|out of gas|gas ?limit ?exceeded|exceeds.*gas limit|gas uint64 overflow|floor data gas/i,
  },
];

/** JSON-RPC and EIP-1474 codes that speak of the provider, whatever the text is. */
const providerCodes: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32002, -32005, 429]);

const rateLimitWords =
  /rate.?limit|too many requests|compute units per second|request count exceeded/i;

/** Null when the text is none that we know: then nothing may be concluded from it. */
export function meaningOf(refusal: RpcRefusal): RefusalMeaning | null {
  if (providerCodes.has(refusal.rpcCode)) return 'provider_fault';
  return refusals.find(({ words }) => words.test(refusal.reason))?.meaning ?? null;
}

/**
 * What came of handing signed bytes to a node.
 * `known`: it has them already. `nonce_used`: a transaction of that nonce is mined, perhaps this one.
 * `refused`: it did not take them, and says why. `unknown`: they may have been sent.
 */
export type BroadcastOutcome =
  | { readonly outcome: 'accepted' | 'known' | 'nonce_used' }
  | { readonly outcome: 'refused'; readonly meaning: RefusalMeaning; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly reason: string };

export function broadcastOutcome(refusal: RpcRefusal): BroadcastOutcome {
  const meaning = meaningOf(refusal);
  switch (meaning) {
    case 'already_known':
      return { outcome: 'known' };
    case 'nonce_used':
      return { outcome: 'nonce_used' };
    case null:
    case 'provider_fault':
      return { outcome: 'unknown', reason: refusal.reason };
    default:
      return { outcome: 'refused', meaning, reason: refusal.reason };
  }
}

/** Only these say that the same transaction would fail again, on every node and at every price. */
export function isDeterministicRefusal(refusal: RpcRefusal): boolean {
  const meaning = meaningOf(refusal);
  return meaning === 'reverted' || meaning === 'gas_limit';
}

/** The provider says that it was asked too often, inside an answer that is well otherwise. */
export function isRateLimit({ rpcCode, reason }: RpcRefusal): boolean {
  return rpcCode === 429 || rateLimitWords.test(reason);
}

/** The node has no such method, which says nothing of the chain. */
export function isUnsupported({ rpcCode, reason }: RpcRefusal): boolean {
  if (rpcCode === -32601) return true;
  return /method\b.*(not found|not supported|does not exist|not available)|unsupported method/i.test(
    reason,
  );
}
