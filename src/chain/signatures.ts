// Checks wallet signatures: EIP-191 locally, ERC-1271 and ERC-6492 on the chain.
import { createClient, custom, hashMessage, recoverAddress } from 'viem';
import { verifyHash } from 'viem/actions';
import type { Hex } from '../proof/bytes.ts';
import { limits } from '../protocol/limits.ts';
import { dataOf } from './decode.ts';
import { isDeterministicRefusal, ProviderError, type RpcRefusal } from './errors.ts';
import { type Ask, resultOf } from './rpc.ts';

/** Half the order of secp256k1. Of the two forms of a signature only the one with `s` up to this value is valid. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
/** The last 32 bytes of a signature for a contract that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16);
const CONTRACT_CHECK_MS = 5_000;

/**
 * The checksummed wallet that made this personal_sign signature of `message`: 65 bytes, v 27, 28, 0 or 1, low s. Null
 * otherwise.
 */
export async function recoverWallet(message: string, signature: Hex): Promise<string | null> {
  const parts = partsOf(signature);
  if (parts === null || parts.s > HALF_ORDER || ![0, 1, 27, 28].includes(parts.v)) return null;
  try {
    return await recoverAddress({ hash: hashMessage(message), signature });
  } catch {
    // r or s is out of range, or no point has this r.
    return null;
  }
}

export interface ContractClaim {
  readonly wallet: string;
  readonly message: string;
  readonly signature: Hex;
}

/** Whether these bytes may be passed to a contract at all. */
export function mayBeContractSignature(signature: Hex): boolean {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(signature)) return false;
  if (signature.length / 2 - 1 > limits.signatureBytes) return false;
  // The contract check falls back to plain recovery, which would accept the malleable form.
  const parts = partsOf(signature);
  return parts === null || parts.s <= HALF_ORDER;
}

/**
 * Whether the contract wallet accepts the signature (ERC-1271, ERC-6492). `mayBeContractSignature` must have passed.
 * The contract is called only if it has code or the signature has the 6492 suffix. A reverted call means no. Rejects
 * with `chain_unavailable` if the chain cannot be read within 5 seconds.
 */
export async function isContractSignature(ask: Ask, claim: ContractClaim): Promise<boolean> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), CONTRACT_CHECK_MS);
  try {
    return await checkContract((calls) => ask(calls, abort.signal), claim);
  } finally {
    clearTimeout(timer);
  }
}

async function checkContract(
  ask: Ask,
  { wallet, message, signature }: ContractClaim,
): Promise<boolean> {
  if (!signature.toLowerCase().endsWith(ERC6492_SUFFIX)) {
    const [code] = await ask([{ method: 'eth_getCode', params: [wallet, 'latest'] }]);
    if (dataOf(resultOf(code)) === '0x') return false;
  }
  // viem treats any failed call as a "no"; a provider error must not count as one.
  let failure: unknown = null;
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    try {
      const [answer] = await ask([{ method, params: Array.isArray(params) ? params : [] }]);
      if (answer?.ok === false && isDeterministicRefusal(answer.refusal)) {
        throw new CallReverted(answer.refusal);
      }
      return resultOf(answer);
    } catch (error) {
      if (error instanceof ProviderError) failure = error;
      throw error;
    }
  };
  const client = createClient({ transport: custom({ request }, { retryCount: 0 }) });
  const accepted = await verifyHash(client, {
    address: wallet as Hex,
    hash: hashMessage(message),
    signature,
  }).catch(() => false);
  if (failure !== null) throw failure;
  return accepted;
}

/** The error that viem expects from a provider, with the JSON-RPC code. */
class CallReverted extends Error {
  readonly code: number;

  constructor({ rpcCode, reason }: RpcRefusal) {
    super(reason);
    this.code = rpcCode;
  }
}

function partsOf(signature: string): { s: bigint; v: number } | null {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return null;
  return {
    s: BigInt(`0x${signature.slice(66, 130)}`),
    v: Number.parseInt(signature.slice(130), 16),
  };
}
