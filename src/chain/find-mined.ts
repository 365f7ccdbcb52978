import type { Hex } from '../proof/bytes.ts';
import {
  headerAt,
  quantityOf,
  receiptOf,
  type TransactionReceipt,
  transactionOf,
} from './decode.ts';
import { confirmationsOf } from './read-anchor.ts';
import { type Ask, type RpcAnswer, resultOf } from './rpc.ts';

/** A signed transaction whose receipt is wanted, in all the variants of its nonce. */
export interface SentAnchor {
  readonly id: string;
  readonly payload: Hex;
  readonly txHashes: readonly Hex[];
}

/** Where a variant stands in the canonical chain. Times in ms since the epoch, amounts in wei. */
export interface MinedTransaction {
  readonly txHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly txIndex: number;
  readonly blockTimestamp: number;
  readonly gasUsed: bigint;
  readonly effectiveGasPrice: bigint;
  readonly dataFeeWei: bigint;
}

export interface MinedAnchor {
  readonly id: string;
  /** `reverted` and `altered` can only come from a sender with code, or a node that lies. */
  readonly outcome: 'success' | 'reverted' | 'altered';
  readonly mined: MinedTransaction;
  /** The block itself counts as one. */
  readonly confirmations: bigint;
}

/**
 * The receipts of all variants in one request, and in a second one the block that stands at each
 * receipt's number and the transaction itself. Only what is in a canonical block comes back: an anchor
 * left out may be waiting, unknown to this node, or in a block that was replaced.
 */
export async function findMined(
  ask: Ask,
  sender: string,
  anchors: readonly SentAnchor[],
  signal?: AbortSignal,
): Promise<{ headNumber: bigint; mined: MinedAnchor[] }> {
  const [head, ...answers] = await ask(
    [
      { method: 'eth_blockNumber', params: [] },
      ...anchors.flatMap(({ txHashes }) =>
        txHashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
      ),
    ],
    signal,
  );
  const headNumber = quantityOf(resultOf(head));
  const found = matchReceipts(anchors, answers);
  if (found.length === 0) return { headNumber, mined: [] };
  const details = await ask(
    found.flatMap(({ receipt }) => [
      { method: 'eth_getBlockByNumber', params: [`0x${receipt.blockNumber.toString(16)}`, false] },
      { method: 'eth_getTransactionByHash', params: [receipt.txHash] },
    ]),
    signal,
  );
  const mined = found.flatMap(({ anchor, receipt }, i) => {
    const block = headerAt(receipt.blockNumber, resultOf(details[2 * i]));
    const tx = transactionOf(resultOf(details[2 * i + 1]));
    if (tx === null || block?.hash !== receipt.blockHash) return [];
    const self = sender.toLowerCase();
    const intact = tx.input === anchor.payload && tx.from === self && tx.to === self;
    const { status, ...place } = receipt;
    return {
      id: anchor.id,
      outcome: status === 'reverted' ? status : intact ? 'success' : 'altered',
      mined: { ...place, blockTimestamp: block.timestamp },
      confirmations: confirmationsOf(receipt, headNumber),
    } satisfies MinedAnchor;
  });
  return { headNumber, mined };
}

function matchReceipts(
  anchors: readonly SentAnchor[],
  answers: readonly RpcAnswer[],
): { anchor: SentAnchor; receipt: TransactionReceipt }[] {
  let next = 0;
  return anchors.flatMap((anchor) =>
    anchor.txHashes.flatMap((txHash) => {
      const receipt = receiptOf(resultOf(answers[next++]));
      return receipt?.txHash === txHash ? [{ anchor, receipt }] : [];
    }),
  );
}
