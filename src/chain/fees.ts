// Reads the fees of a chain: tip, whether the chain has fees at all, data fee of an OP-stack L2.
import { encodeFunctionData, parseAbi, serializeTransaction } from 'viem';
import type { Hex } from '../proof/bytes.ts';
import { dataOf, objectOf, quantityOf } from './decode.ts';
import { isDeterministicRefusal, isNotOffered, isUnsupported, ProviderError } from './errors.ts';
import { type Ask, type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';

/** Tip in wei per gas if the node suggests none. */
const DEFAULT_TIP = 1_000_000_000n;
/** Some nodes suggest 0, with which a transaction may wait long. */
const LEAST_TIP = 1_000_000n;
/** GasPriceOracle, a predeploy of every OP-stack chain. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F';
const gasPriceOracle = parseAbi([
  'function getL1Fee(bytes) view returns (uint256)',
  'function getOperatorFee(uint256) view returns (uint256)',
]);

export function tipOf(answer: RpcAnswer | undefined): bigint {
  if (answer?.ok === false && isNotOffered(answer.refusal)) return DEFAULT_TIP;
  const result = resultOf(answer);
  if (result === null || result === '0x') return DEFAULT_TIP;
  const tip = quantityOf(result);
  return tip < LEAST_TIP ? LEAST_TIP : tip;
}

/**
 * Reads the data fee or the operator fee of an L2. Without an oracle the call returns nothing; another contract at its
 * address may revert.
 */
export function dataFeeOf(answer: RpcAnswer | undefined): bigint {
  if (answer?.ok === false) {
    const { refusal } = answer;
    if (isUnsupported(refusal) || isDeterministicRefusal(refusal)) return 0n;
  }
  const fee = dataOf(resultOf(answer));
  return fee.length === 66 ? BigInt(fee) : 0n;
}

export function dataFeeCall(sender: Hex, payload: Hex): RpcCall {
  // The oracle expects the unsigned transaction; typical fees stand in for the real ones.
  const unsigned = serializeTransaction({
    type: 'eip1559',
    chainId: 1,
    nonce: 1_000_000,
    gas: 30_000n,
    maxFeePerGas: 1_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    to: sender,
    value: 0n,
    data: payload,
  });
  const data = encodeFunctionData({
    abi: gasPriceOracle,
    functionName: 'getL1Fee',
    args: [unsigned],
  });
  return { method: 'eth_call', params: [{ to: GAS_PRICE_ORACLE, data }, 'latest'] };
}

/** The operator fee for so much gas, in a block or the newest one. The oracle knows the formula of each fork. */
export function operatorFeeCall(gas: bigint, blockNumber: bigint | null): RpcCall {
  const data = encodeFunctionData({
    abi: gasPriceOracle,
    functionName: 'getOperatorFee',
    args: [gas],
  });
  const block = blockNumber === null ? 'latest' : `0x${blockNumber.toString(16)}`;
  return { method: 'eth_call', params: [{ to: GAS_PRICE_ORACLE, data }, block] };
}

/** A chain without fees is recognized by this number of blocks. */
const FREE_BLOCKS = 20;

const freeCalls: readonly RpcCall[] = [
  { method: 'eth_gasPrice', params: [] },
  { method: 'eth_feeHistory', params: [`0x${FREE_BLOCKS.toString(16)}`, 'latest', [100]] },
];

/**
 * Whether transactions of the last 20 blocks paid neither base fee nor tip. A node may suggest a price all the same:
 * that counts if the sender can pay at all. A node that cannot say so has fees.
 */
export async function isFree(ask: Ask, balance: bigint, signal?: AbortSignal): Promise<boolean> {
  const [price, history] = await ask(freeCalls, signal);
  try {
    const { baseFeePerGas, reward } = objectOf(resultOf(history));
    const isPaid = [baseFeePerGas, reward].flat(2).some((fee) => quantityOf(fee) > 0n);
    return !isPaid && (balance === 0n || quantityOf(resultOf(price)) === 0n);
  } catch (error) {
    if (error instanceof ProviderError) return false;
    throw error;
  }
}
