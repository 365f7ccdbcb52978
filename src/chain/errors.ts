// Provider errors: the meaning of a node's refusal, and error texts without credentials.
import { orNull } from '../base/or-null.ts';
import { SvcError } from '../base/svc-error.ts';
import { errors } from '../protocol/errors.ts';

/**
 * A provider gave no answer, or an unusable one. Whether the request reached the node is unknown. `reason` is for the
 * log; it contains nothing of the URL or the request.
 */
export class ProviderError extends SvcError<'chain_unavailable'> {
  readonly reason: string;
  /** How long the endpoint asked not to be called; null if it did not. */
  readonly retryAfterMs: number | null;
  /** Whether the same calls may succeed in smaller batches. */
  readonly isTooLarge: boolean;
  /** Whether a limit of calls is used up: the provider's, or our own. */
  readonly isExhausted: boolean;

  constructor(
    reason: string,
    options: { retryAfterMs?: number | null; isTooLarge?: boolean; isExhausted?: boolean } = {},
  ) {
    const { retryAfterMs = null, isTooLarge = false, isExhausted = false } = options;
    super('chain_unavailable', 'The chain cannot be read now', {
      retryable: errors.chain_unavailable.retryable,
      details:
        retryAfterMs === null ? {} : { retry_after: Math.max(1, Math.ceil(retryAfterMs / 1000)) },
    });
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.isTooLarge = isTooLarge;
    this.isExhausted = isExhausted;
  }
}

/** The provider does not show the block that identifies the chain, so nothing is known of its chain. */
export class UnidentifiedError extends ProviderError {
  constructor(blockNumber: number) {
    super(`it does not show block ${blockNumber}, which identifies the chain`);
  }
}

/** The node answered a call with a JSON-RPC error. `reason` is the node's text, redacted. */
export interface RpcRefusal {
  readonly rpcCode: number;
  readonly reason: string;
}

/**
 * The only table of refusal texts. The first matching row decides, so errors of the provider come before errors of the
 * node. The texts and their sources: test/chain/errors.test.ts.
 */
const refusals = {
  provider_error:
    /rate.?limit|request rate|too many (requests|rpc calls)|request (count|limit)|(?<!account |gas )limit exceeded|quota|capacity|compute units|payment required|timed? ?out|deadline exceeded|unavailable|header not found|missing trie node|overloaded|\bbackends?\b|try again later|syncing|initial sync/i,
  already_known:
    /already ?known|\bknown transaction\b(?! type)|already ?imported|existing tx with same hash|already exists in cache/i,
  nonce_used:
    /(?<!authority )nonce (is )?too low|old ?nonce|nonce below current|already finalized|pool\(stale\)/i,
  underfunded:
    /(insufficient|not enough) ?funds|insufficient balance|insufficient MaxFee|upfront cost exceeds|exceeds account balance|cause overdraft|gas required exceeds allowance \(0\)/i,
  underpriced:
    /underpriced|insufficient fees?\b(?! balance)|invalid base ?fee|fee ?too ?low|insufficient gas price|gas ?price .*too low|gas ?price (is )?(too low|less than)|less than (the )?block base fee|lower than the (block )?base fee|below (the )?(current base fee|configured minimum|minimum required)|max fee per gas less|replacement ?not ?allowed|could not replace existing|same nonce in the (queue|tx pool)/i,
  not_accepted:
    /nonce too high|nonce ?gap|gapped.nonce|nonce too far|too distant from|lower nonce exists|pool (is )?full|queue full|pool limit|account limit exceeded|too many transactions in the queue|spammer|(chain ?id|signer)|invalid sender|exceeds the configured cap|fee cap exceeded|already reserved|in-flight transaction limit|future transaction tries to replace|not authorized/i,
  reverted: /revert|vm execution error|invalid opcode|invalid jump|stack (under|over)flow/i,
  gas_limit:
    /exceeds (the )?(max )?(block|transaction) gas limit|gas limit (reached|too high|is greater)|gas required exceeds|intrinsic gas too (low|high)|intrinsic ?gas exceeds|\bIntrinsicGas\b|out of gas|gas ?limit ?exceeded|exceeds.*gas limit|beyond limit|gas ?uint(64)? ?overflow|floor data gas/i,
} satisfies Record<string, RegExp>;

export type RefusalMeaning = keyof typeof refusals;

/** JSON-RPC and EIP-1474 codes that indicate a problem of the provider, if the text says nothing. */
const providerCodes: ReadonlySet<number> = new Set([
  -32700, -32600, -32601, -32002, -32005, 402, 429,
]);

const rateLimitWords =
  /rate.?limit|request rate|too many requests|compute units|request (count|limit)/i;

/** Cosmos chains name both nonces: one that is too high is not used. */
const wrongNonce = /invalid nonce; got (\d+), expected (\d+)/i;

/** The meaning of a refusal; null if the text is unknown: then conclude nothing from it. */
export function meaningOf(refusal: RpcRefusal): RefusalMeaning | null {
  const [, got, expected] = wrongNonce.exec(refusal.reason) ?? [];
  if (got !== undefined && expected !== undefined) {
    return BigInt(got) > BigInt(expected) ? 'not_accepted' : 'nonce_used';
  }
  for (const [meaning, words] of Object.entries(refusals)) {
    if (words.test(refusal.reason)) return meaning as RefusalMeaning;
  }
  return providerCodes.has(refusal.rpcCode) ? 'provider_error' : null;
}

/**
 * The outcome of sending a signed transaction to a node.
 * `known`: the node already had it.
 * `nonce_used`: a transaction with that nonce is mined, perhaps this one.
 * `refused`: the node did not accept it, and says why.
 * `unknown`: it may have been sent.
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
    case 'provider_error':
      return { outcome: 'unknown', reason: refusal.reason };
    default:
      return { outcome: 'refused', meaning, reason: refusal.reason };
  }
}

/** Whether the same transaction would fail again on every node and at every price. */
export function isDeterministicRefusal(refusal: RpcRefusal): boolean {
  const meaning = meaningOf(refusal);
  return meaning === 'reverted' || meaning === 'gas_limit';
}

/** Whether one answer of an otherwise successful response reports a rate limit. */
export function isRateLimit({ rpcCode, reason }: RpcRefusal): boolean {
  return rpcCode === 429 || rateLimitWords.test(reason);
}

/** Whether the node does not have the method, which says nothing about the chain. */
export function isUnsupported({ rpcCode, reason }: RpcRefusal): boolean {
  if (rpcCode === -32601) return true;
  return /method\b.*(not found|not supported|does not exist|not available)|unsupported method/i.test(
    reason,
  );
}

/** As `isUnsupported`, and whether the provider does not offer the method to this caller. */
export function isNotOffered(refusal: RpcRefusal): boolean {
  return (
    isUnsupported(refusal) || /not (yet )?(supported|implemented|whitelisted)/i.test(refusal.reason)
  );
}

/** Whether the provider found the batch too large. The texts: test/chain/errors.test.ts. */
export function isBatchTooLarge(reason: string): boolean {
  return /batch\b.*(too (large|big|long)|exceed|more than|limit)|(exceed|too many|max).*\bbatch/i.test(
    reason,
  );
}

/** Node texts may quote the output of any contract, so at most this many characters are processed. */
const READ_CHARS = 2_000;
const KEPT_CHARS = 200;

/**
 * Makes a node's text safe to log. Providers quote the request, their own address or the project key of the URL in
 * their errors, so everything that could be one of them is removed. Takes time proportional to the first 2 000
 * characters at most, and returns at most 200.
 */
export function redactor(url: string): (text: string) => string {
  const secrets = secretsOf(url);
  return (text) => {
    let clean = text.length > READ_CHARS ? cut(text.slice(0, READ_CHARS), secrets) : text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
    return clean
      .replaceAll(/[a-z][a-z0-9+.-]{0,15}:\/\/\S+/gi, '[url]')
      .replaceAll(/0x[0-9a-f]{65,}/gi, '[data]')
      .replaceAll(/\p{Cc}/gu, ' ')
      .slice(0, KEPT_CHARS);
  };
}

/** Removes from the end of a cut text anything that could be the beginning of a secret, or of hex data. */
function cut(text: string, secrets: readonly string[]): string {
  const begun = secrets.map((secret) => {
    let length = Math.min(secret.length - 1, text.length);
    while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1;
    return length;
  });
  const data = text.lastIndexOf('0x');
  if (data !== -1 && /^0x[0-9a-f]*$/i.test(text.slice(data))) begun.push(text.length - data);
  return text.slice(0, text.length - Math.max(0, ...begun));
}

function secretsOf(url: string): string[] {
  const { host, hostname, username, password, pathname, searchParams } = new URL(url);
  const parts = [
    ...pathname.split('/').filter((part) => part.length >= 6),
    ...searchParams.values(),
  ];
  const raw = [url, host, hostname, username, password, ...parts];
  return raw
    .flatMap((text) => [text, orNull(() => decodeURIComponent(text)) ?? text])
    .filter((text) => text.length > 2)
    .sort((a, b) => b.length - a.length);
}
