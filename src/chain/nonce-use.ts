// Decodes the transaction that used a nonce.
import { keccak256, recoverTransactionAddress } from 'viem';
import { bytesToHex, type Hex } from '../proof/bytes.ts';
import { encodeTransaction } from './block-encoding.ts';
import {
  type BlockHeader,
  hashOf,
  numberOf,
  objectOf,
  quantityOf,
  transactionOf,
} from './decode.ts';
import { finalityOf, type Heads } from './finality.ts';

/** The transaction that used a nonce. */
export interface NonceUse {
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly isFinal: boolean;
  /** Calldata of a transaction from the sender to itself; null for any other. */
  readonly payload: Hex | null;
  /** The signed bytes, if they could be rebuilt; only for an EIP-1559 transaction to the sender itself. */
  readonly signed: SignedBytes | null;
}

interface SignedBytes {
  readonly txHash: Hex;
  readonly rawTx: Hex;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

interface NonceInBlock {
  readonly sender: string;
  readonly nonce: number;
  readonly header: BlockHeader;
  readonly heads: Heads;
}

/** The sender's transaction with this nonce in a block; null if the block does not contain it. */
export async function nonceUseOf(
  transactions: readonly unknown[],
  { sender, nonce, header, heads }: NonceInBlock,
): Promise<NonceUse | null> {
  const self = sender.toLowerCase();
  for (const transaction of transactions) {
    const fields = objectOf(transaction);
    if (String(fields.from).toLowerCase() !== self || numberOf(fields.nonce, 'nonce') !== nonce)
      continue;
    const { hash, to, input } = transactionOf(fields) ?? { hash: hashOf(fields.hash) };
    const isOwn = to === self && input !== undefined;
    return {
      txHash: hash,
      blockNumber: header.number,
      blockHash: header.hash,
      isFinal: finalityOf(header.number, heads) === 'finalized',
      payload: isOwn ? input : null,
      signed: isOwn && fields.type === '0x2' ? await signedBytes(fields, hash, self) : null,
    };
  }
  return null;
}

/** Rebuilds the signed bytes of a transaction; null unless they have its hash and the sender's signature. */
async function signedBytes(
  fields: Record<string, unknown>,
  txHash: Hex,
  sender: string,
): Promise<SignedBytes | null> {
  // An anchor has no access list.
  const encoded = encodeTransaction({ ...fields, accessList: [] });
  const rawTx = bytesToHex(encoded) as `0x02${string}`; // The caller has checked the type.
  if (keccak256(rawTx) !== txHash) return null;
  const signer = await recoverTransactionAddress({ serializedTransaction: rawTx });
  if (signer.toLowerCase() !== sender) return null;
  return {
    txHash,
    rawTx,
    maxFeePerGas: quantityOf(fields.maxFeePerGas),
    maxPriorityFeePerGas: quantityOf(fields.maxPriorityFeePerGas),
  };
}
