// Checks wallet signatures: EIP-191 locally, ERC-1271 and ERC-6492 on the chain.
import { Worker } from 'node:worker_threads';
import {
  bytesToHex,
  createClient,
  custom,
  hashMessage,
  hexToBytes,
  parseAbi,
  recoverMessageAddress,
} from 'viem';
import { publicKeyToAddress } from 'viem/accounts';
import { readContract, verifyHash } from 'viem/actions';
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

const erc1271 = parseAbi(['function isValidSignature(bytes32, bytes) view returns (bytes4)']);
const ERC1271_ACCEPTED = '0x1626ba7e';

/** The checksummed wallet that made a personal_sign signature; null if none did. */
export async function signerOf(message: string, signature: Hex): Promise<string | null> {
  return recoverMessageAddress({ message, signature }).catch(() => null);
}

/**
 * Recovers signers in a thread, one at a time: each takes milliseconds, and strangers decide how many there are. The
 * thread starts with the first signature, and again if it ended.
 */
export function startRecovery() {
  let thread: Worker | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let pending: { resolve(key: Uint8Array | null): void; reject(error: Error): void } | null = null;

  function startThread(): Worker {
    const worker = new Worker(new URL('./recover-thread.js', import.meta.url), { execArgv: [] });
    const end = (error: Error) => {
      if (thread === worker) thread = null;
      pending?.reject(error);
    };
    worker.unref();
    worker.on('message', (publicKey: Uint8Array | null) => pending?.resolve(publicKey));
    worker.on('error', end);
    worker.on('exit', () => end(new Error('the thread that recovers signers ended')));
    return worker;
  }

  function recover(signed: object): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      pending = { resolve, reject };
      thread ??= startThread();
      thread.postMessage(signed);
    });
  }

  return {
    /**
     * The checksummed wallet that made this personal_sign signature of `message`: 65 bytes, v 27, 28, 0 or 1, low s; or
     * 64 bytes, the compact form (EIP-2098). Null otherwise.
     */
    async recoverWallet(message: string, signature: Hex): Promise<string | null> {
      const whole = expandCompact(signature);
      const parts = partsOf(whole);
      if (parts === null || parts.s > HALF_ORDER || ![0, 1, 27, 28].includes(parts.v)) return null;
      const signed = {
        hash: hashMessage(message, 'bytes'),
        signature: hexToBytes(whole).subarray(0, 64),
        recovery: parts.v % 27,
      };
      const publicKey = last.then(() => recover(signed));
      last = publicKey.catch(() => {});
      const found = await publicKey;
      return found === null ? null : publicKeyToAddress(bytesToHex(found));
    },
    async close(): Promise<void> {
      await thread?.terminate();
    },
  };
}

export interface ContractClaim {
  readonly wallet: string;
  readonly message: string;
  readonly signature: Hex;
}

/** Whether these bytes may be passed to a contract at all. A Safe that approved the message on chain sends none. */
export function mayBeContractSignature(signature: Hex): boolean {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(signature)) return false;
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
export async function isContractSignature(
  ask: Ask,
  { wallet, message, signature }: ContractClaim,
): Promise<boolean> {
  const signal = AbortSignal.timeout(CONTRACT_CHECK_MS);
  if (!signature.toLowerCase().endsWith(ERC6492_SUFFIX)) {
    const calls = [{ method: 'eth_getCode', params: [wallet, 'latest'] }];
    const [code] = await ask(calls, signal);
    if (dataOf(resultOf(code)) === '0x') return false;
  }
  // viem treats any failed call as a "no"; a provider error must not count as one.
  let failure: unknown = null;
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    try {
      const calls = [{ method, params: Array.isArray(params) ? params : [] }];
      const [answer] = await ask(calls, signal);
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
  const address = wallet as Hex;
  const hash = hashMessage(message);
  // The validator contract of verifyHash reads the last 32 bytes, and reverts if there are fewer.
  const checking =
    signature.length < 2 + ERC6492_SUFFIX.length
      ? readContract(client, {
          address,
          abi: erc1271,
          functionName: 'isValidSignature',
          args: [hash, signature],
        }).then((answer) => answer === ERC1271_ACCEPTED)
      : verifyHash(client, { address, hash, signature });
  const accepted = await checking.catch(() => false);
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

/** The 65 bytes of a compact signature (EIP-2098), in which the highest bit of s is the y parity. */
export function expandCompact(signature: Hex): Hex {
  if (!/^0x[0-9a-fA-F]{128}$/.test(signature)) return signature;
  const [first = 0, ...rest] = hexToBytes(`0x${signature.slice(66)}`);
  const s = bytesToHex(Uint8Array.of(first & 0x7f, ...rest, first >> 7));
  return `${signature.slice(0, 66) as Hex}${s.slice(2)}`;
}

function partsOf(signature: string): { s: bigint; v: number } | null {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return null;
  return {
    s: BigInt(`0x${signature.slice(66, 130)}`),
    v: Number.parseInt(signature.slice(130), 16),
  };
}
