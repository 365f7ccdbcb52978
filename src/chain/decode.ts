// Decodes JSON-RPC results. Every function throws ProviderError for a malformed value. Hex is returned in lower case.
import type { Hex } from '../proof/bytes.ts';
import { ProviderError } from './errors.ts';

export function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed();
  return value as Record<string, unknown>;
}

export function quantityOf(value: unknown): bigint {
  if (!isQuantity(value)) throw malformed();
  return BigInt(value);
}

function isQuantity(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value);
}

/** `member` names the value in the error. */
export function numberOf(value: unknown, member: string): number {
  const quantity = quantityOf(value);
  if (quantity > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new ProviderError(`${member} is ${quantity}, above 2^53 - 1`);
  }
  return Number(quantity);
}

export function dataOf(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) throw malformed();
  return value.toLowerCase() as Hex;
}

export function hashOf(value: unknown): Hex {
  const data = dataOf(value);
  if (data.length !== 66) throw malformed();
  return data;
}

export function addressOf(value: unknown): Hex {
  const data = dataOf(value);
  if (data.length !== 42) throw malformed();
  return data;
}

export interface BlockHeader {
  readonly number: bigint;
  readonly hash: Hex;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  /** Null on a chain without EIP-1559. */
  readonly baseFeePerGas: bigint | null;
}

/** The last second that RFC 3339 can represent. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

/** Null if the node does not know the block. */
export function headerOf(value: unknown): BlockHeader | null {
  if (value === null) return null;
  const block = objectOf(value);
  const { baseFeePerGas } = block;
  const seconds = numberOf(block.timestamp, 'the timestamp of a block');
  if (seconds > LAST_SECOND) {
    throw new ProviderError(`the timestamp of a block is ${seconds} s, after the year 9999`);
  }
  return {
    number: quantityOf(block.number),
    hash: hashOf(block.hash),
    timestamp: seconds * 1000,
    baseFeePerGas: baseFeePerGas == null ? null : quantityOf(baseFeePerGas),
  };
}

/** As `headerOf`, for a block requested by its number. */
export function headerAt(number: bigint, value: unknown): BlockHeader | null {
  const header = headerOf(value);
  if (header !== null && header.number !== number) throw malformed();
  return header;
}

export interface TransactionReceipt {
  readonly txHash: Hex;
  readonly status: 'success' | 'reverted';
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly txIndex: number;
  /** Null if the node does not report it. */
  readonly gasUsed: bigint | null;
  readonly effectiveGasPrice: bigint | null;
  /** The data fee that an OP-stack L2 charges in addition to gas; null elsewhere. */
  readonly dataFeeWei: bigint | null;
}

/** Null if the node has no receipt, which proves nothing. */
export function receiptOf(value: unknown): TransactionReceipt | null {
  if (value === null) return null;
  const receipt = objectOf(value);
  // Some nodes return a receipt for a transaction in the pool, before it is in a block.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null;
  return {
    txHash: hashOf(receipt.transactionHash),
    status: quantityOf(receipt.status) === 1n ? 'success' : 'reverted',
    blockNumber: quantityOf(receipt.blockNumber),
    blockHash: hashOf(receipt.blockHash),
    txIndex: numberOf(receipt.transactionIndex, 'transactionIndex'),
    gasUsed: amountOf(receipt.gasUsed),
    effectiveGasPrice: amountOf(receipt.effectiveGasPrice),
    dataFeeWei: amountOf(receipt.l1Fee),
  };
}

/** Null for what is missing or malformed: a receipt is found without its amounts too. */
function amountOf(value: unknown): bigint | null {
  return isQuantity(value) ? BigInt(value) : null;
}

export interface Transaction {
  readonly hash: Hex;
  readonly from: Hex;
  /** Null when the transaction creates a contract. */
  readonly to: Hex | null;
  readonly value: bigint;
  readonly input: Hex;
}

/** Null when the node does not know the transaction. */
export function transactionOf(value: unknown): Transaction | null {
  if (value === null) return null;
  const tx = objectOf(value);
  return {
    hash: hashOf(tx.hash),
    from: addressOf(tx.from),
    to: tx.to == null ? null : addressOf(tx.to),
    value: quantityOf(tx.value),
    input: dataOf(tx.input),
  };
}

export function malformed(): ProviderError {
  return new ProviderError('the answer has an unexpected form');
}
