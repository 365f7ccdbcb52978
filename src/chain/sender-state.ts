// Reads nonce, balance, code, gas and fees of an anchoring account.
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { type BlockHeader, dataOf, headerOf, numberOf, objectOf, quantityOf } from './decode.ts';
import { isDeterministicRefusal, meaningOf, ProviderError, type RefusalMeaning } from './errors.ts';
import { dataFeeCall, dataFeeOf, isFree, operatorFeeCall, tipOf } from './fees.ts';
import { answersOn, askChain, type Identity, identityCalls } from './identity.ts';
import {
  type Ask,
  askInParts,
  newestBlockCall,
  type RpcAnswer,
  type RpcCall,
  resultOf,
} from './rpc.ts';

export interface SenderStateSubject {
  readonly identity: Identity;
  readonly sender: string;
  readonly payload: Hex;
  /** Less is read of an idle account. Nothing may be signed by the result. */
  readonly idle?: IdleReading | null;
}

export interface IdleReading {
  readonly before: SenderState;
  /** What is read again, next to the head. */
  readonly part: 'account' | 'fees';
}

/** The state of sender and chain that a payload is signed by. Amounts in wei. */
export interface SenderState {
  readonly headNumber: bigint;
  /** Transaction count of the sender on the chain, and the lowest that any URL reports. */
  readonly latestNonce: number;
  readonly lowestNonce: number;
  /** Transaction count including the nodes' pools. */
  readonly pendingNonce: number;
  readonly balance: bigint;
  readonly hasCode: boolean;
  readonly baseFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly gas: GasEstimate;
  /** Estimated data fee and operator fee of an OP-stack L2; 0 elsewhere. */
  readonly dataFeeWei: bigint;
}

type GasEstimate =
  /** `most`: the gas limit of a block. */
  | { readonly outcome: 'estimated'; readonly gas: bigint; readonly most: bigint }
  | { readonly outcome: 'underfunded' }
  /** The transaction would fail on every node and at every price. */
  | { readonly outcome: 'refused'; readonly meaning: RefusalMeaning; readonly reason: string };

/**
 * Reads the state of chain and sender, and the cost of `payload`, in one request if the endpoint accepts it. Rejects
 * with ProviderError, with SvcError `chain_mismatch` if another chain answers, and with SvcError `unsupported_chain` if
 * blocks have no base fee.
 */
export async function senderState(
  ask: Ask,
  subject: SenderStateSubject,
  signal?: AbortSignal,
): Promise<SenderState> {
  const { identity, sender, payload, idle } = subject;
  if (idle) return idleState(ask, subject, idle, signal);
  const calls = Object.values(senderStateCalls(sender, payload));
  const readings = await askChain(ask, identity, { head: [newestBlockCall], calls }, signal);
  const [latest, pending, balance, code, gas, tip, dataFee, operatorFee] = readings.flatMap(
    ([, ...answers]) => answers,
  );
  const { header, gasLimit } = readings.map(([head]) => headOf(head)).reduce(newest);
  if (header.baseFeePerGas === null) {
    throw new SvcError('unsupported_chain', 'The chain has no base fee (EIP-1559).');
  }
  const funds = quantityOf(resultOf(balance));
  const hasNoFees = header.baseFeePerGas === 0n && (await isFree(ask, funds, signal));
  return {
    headNumber: header.number,
    latestNonce: numberOf(resultOf(latest), 'eth_getTransactionCount'),
    lowestNonce: numberOf(resultOf(latest), 'eth_getTransactionCount'),
    pendingNonce: numberOf(resultOf(pending), 'eth_getTransactionCount'),
    balance: funds,
    // A delegated account (EIP-7702) has code as well, and its calls to itself could revert.
    hasCode: dataOf(resultOf(code)) !== '0x',
    baseFeePerGas: header.baseFeePerGas,
    maxPriorityFeePerGas: hasNoFees ? 0n : tipOf(tip),
    gas: gasOf(gas, gasLimit),
    dataFeeWei: dataFeeOf(dataFee) + dataFeeOf(operatorFee),
  };
}

/** Reads the account or the fees in six calls; the rest is as before. */
async function idleState(
  ask: Ask,
  { identity, sender, payload }: SenderStateSubject,
  { before, part }: IdleReading,
  signal?: AbortSignal,
): Promise<SenderState> {
  const all = senderStateCalls(sender, payload);
  const own =
    part === 'account'
      ? [all.latest, all.balance, all.tip]
      : [all.gas, all.dataFee, all.operatorFee];
  const calls = [...identityCalls(identity.blockNumber), newestBlockCall, ...own];
  const answers = (await askInParts(ask, { head: [], calls }, signal)).flat();
  const [top, first, second, third] = answersOn(identity, answers);
  const { header, gasLimit } = headOf(top);
  const baseFeePerGas = header.baseFeePerGas ?? before.baseFeePerGas;
  const state = { ...before, headNumber: header.number, baseFeePerGas };
  if (part === 'fees') {
    const dataFeeWei = dataFeeOf(second) + dataFeeOf(third);
    return { ...state, gas: gasOf(first, gasLimit), dataFeeWei };
  }
  const latestNonce = numberOf(resultOf(first), 'eth_getTransactionCount');
  const hasNoFees = baseFeePerGas === 0n && before.maxPriorityFeePerGas === 0n;
  return {
    ...state,
    latestNonce,
    lowestNonce: latestNonce,
    balance: quantityOf(resultOf(second)),
    maxPriorityFeePerGas: hasNoFees ? 0n : tipOf(third),
  };
}

/**
 * Combines the sender states of several URLs. Each amount is the median, so that one wrong URL of three changes nothing.
 * Of two amounts the higher one counts, because unused gas and base fee are not charged. The tip is charged as signed,
 * so the lower one counts. A refusal, which would end a proof, counts only if no URL contradicts it.
 */
export function senderStateByQuorum(reads: readonly SenderState[]): SenderState | undefined {
  const heads = reads.map(({ headNumber }) => headNumber).sort(ascending);
  const headNumber = heads.at(-2) ?? heads.at(-1);
  if (headNumber === undefined) return undefined;
  return {
    headNumber,
    latestNonce: Number(middle(reads, 'higher', ({ latestNonce }) => BigInt(latestNonce))),
    lowestNonce: Math.min(...reads.map(({ lowestNonce }) => lowestNonce)),
    pendingNonce: Number(middle(reads, 'higher', ({ pendingNonce }) => BigInt(pendingNonce))),
    balance: middle(reads, 'higher', ({ balance }) => balance),
    hasCode: 2 * reads.filter(({ hasCode }) => hasCode).length >= reads.length,
    baseFeePerGas: middle(reads, 'higher', (read) => read.baseFeePerGas),
    maxPriorityFeePerGas: middle(reads, 'lower', (read) => read.maxPriorityFeePerGas),
    gas: gasByQuorum(reads),
    dataFeeWei: middle(reads, 'higher', ({ dataFeeWei }) => dataFeeWei),
  };
}

/** The median; of an even number the lower or the higher of the two in the middle. `items` MUST NOT be empty. */
function middle<Item>(
  items: readonly Item[],
  ofTwo: 'lower' | 'higher',
  amountOf: (item: Item) => bigint,
): bigint {
  const sorted = items.map(amountOf).sort(ascending);
  const half = (sorted.length - 1) / 2;
  return sorted[ofTwo === 'lower' ? Math.floor(half) : Math.ceil(half)] as bigint;
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}

/** `Math.min` for bigints. */
export function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

interface Head {
  readonly header: BlockHeader;
  readonly gasLimit: bigint;
}

function headOf(answer: RpcAnswer | undefined): Head {
  const block = resultOf(answer);
  const header = headerOf(block);
  if (header === null) throw new ProviderError('the node has no latest block');
  return { header, gasLimit: quantityOf(objectOf(block).gasLimit) };
}

/** All counts were read at this head or before. */
function newest(a: Head, b: Head): Head {
  return b.header.number > a.header.number ? b : a;
}

const TRANSACTION_GAS = 21_000n;
/** More than the 40 gas of the floor price of EIP-7623. */
const GAS_PER_BYTE = 64n;

/** More gas than an anchor of this payload needs: its estimate is not known in the same request. */
function mostGasOf(payload: Hex): bigint {
  const bytes = BigInt((payload.length - 2) / 2);
  return TRANSACTION_GAS + GAS_PER_BYTE * bytes;
}

/** In the order of `senderState`. */
function senderStateCalls(sender: string, payload: Hex) {
  const transaction = { from: sender, to: sender, value: '0x0', data: payload };
  return {
    latest: { method: 'eth_getTransactionCount', params: [sender, 'latest'] },
    pending: { method: 'eth_getTransactionCount', params: [sender, 'pending'] },
    balance: { method: 'eth_getBalance', params: [sender, 'latest'] },
    code: { method: 'eth_getCode', params: [sender, 'latest'] },
    gas: { method: 'eth_estimateGas', params: [transaction] },
    tip: { method: 'eth_maxPriorityFeePerGas', params: [] },
    dataFee: dataFeeCall(sender as Hex, payload),
    operatorFee: operatorFeeCall(mostGasOf(payload), null),
  } satisfies Record<string, RpcCall>;
}

/** Reads the gas estimate. More than the block's gas limit is a wrong answer: the transaction could never be mined. */
function gasOf(answer: RpcAnswer | undefined, most: bigint): GasEstimate {
  if (answer?.ok === false) {
    const { refusal } = answer;
    const meaning = meaningOf(refusal);
    if (meaning !== null && isDeterministicRefusal(refusal)) {
      return { outcome: 'refused', meaning, reason: refusal.reason };
    }
    if (meaning === 'underfunded') return { outcome: 'underfunded' };
  }
  const gas = quantityOf(resultOf(answer));
  if (gas > most) throw new ProviderError(`implausible gas estimate ${gas}`);
  return { outcome: 'estimated', gas, most };
}

function gasByQuorum(reads: readonly SenderState[]): GasEstimate {
  const answers = reads.map(({ gas }) => gas);
  const estimates = answers.filter((gas) => gas.outcome === 'estimated');
  if (estimates.length > 0) {
    return {
      outcome: 'estimated',
      gas: middle(estimates, 'higher', ({ gas }) => gas),
      most: middle(estimates, 'lower', ({ most }) => most),
    };
  }
  return answers.find(({ outcome }) => outcome === 'underfunded') ?? (answers[0] as GasEstimate);
}
