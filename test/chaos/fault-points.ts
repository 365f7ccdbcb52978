import type { AnchorStep } from '../../src/server/anchoring/context.ts';
import type { AnchorStore, ChainProofStore } from '../../src/server/ports/anchoring.ts';

/**
 * What must happen besides robots at work for the server to come to a point. `start`: nothing more, and it comes
 * there only once. `patience`: it lives for some seconds. `stop`: it is told to stop. `gas_refusal`: the node says that an
 * anchor would fail. `halt`: no block is made. `theft`: another transaction takes the nonce of an anchor.
 */
export type Occasion = 'work' | 'start' | 'patience' | 'stop' | 'gas_refusal' | 'halt' | 'theft';

type Reading =
  | 'getChainIdentity'
  | 'listAnchorAddresses'
  | 'getChainStatus'
  | 'getNextNonce'
  | 'readReservedSpend'
  | 'listQueuedProofs'
  | 'listFreeLeaves'
  | 'waitForQueuedProof'
  | 'listOpenAttempts'
  | 'listIncludedAttempts'
  | 'listIncludedBelow'
  | 'listMinedFrom'
  | 'isUsedElsewhere'
  | 'listOpenSenders'
  | 'countMissingChainProofs';

const steps: Record<AnchorStep, Occasion> = {
  attempt_signed: 'work',
  leaves_assigned: 'work',
  attempt_committed: 'work',
  broadcast_sent: 'work',
  broadcast_recorded: 'work',
  inclusion_found: 'work',
  inclusion_recorded: 'work',
  leaves_settled: 'work',
  leaves_returned: 'theft',
  variant_signed: 'halt',
  variant_committed: 'halt',
  inclusion_changed: 'work',
  inclusion_change_recorded: 'work',
  replaced_nonce_found: 'theft',
  replaced_nonce_recorded: 'theft',
  chain_proof_built: 'work',
  chain_proof_recorded: 'work',
};

/** Only for a database that was put back to an earlier state: test/chain/restored-database.test.ts. */
type OutOfReach = 'adoptVariant';

/** Every durable step: what the anchorer writes, and what robots have written. */
const writes: Record<
  | Exclude<keyof AnchorStore | keyof ChainProofStore, Reading | OutOfReach>
  | 'createTask'
  | 'queueCompletion',
  Occasion
> = {
  createTask: 'work',
  queueCompletion: 'work',
  bindChain: 'start',
  acquireLease: 'start',
  renewLease: 'patience',
  releaseLease: 'stop',
  saveChainStatus: 'work',
  assignLeaves: 'work',
  returnLeaves: 'work',
  commitAttempt: 'work',
  addVariant: 'halt',
  recordBroadcast: 'work',
  recordInclusion: 'work',
  settleLeaves: 'work',
  recordInclusionChanges: 'work',
  recordReplacedNonce: 'theft',
  takeUnproven: 'work',
  recordChainProof: 'work',
  failQueuedProofs: 'gas_refusal',
};

/** Every call that the anchorer makes to a node. */
const rpcCalls: Record<string, Occasion> = {
  eth_chainId: 'work',
  eth_getBlockByNumber: 'work',
  eth_blockNumber: 'work',
  eth_getTransactionCount: 'work',
  eth_getBalance: 'work',
  eth_getCode: 'work',
  eth_call: 'work',
  eth_estimateGas: 'work',
  eth_maxPriorityFeePerGas: 'work',
  eth_sendRawTransaction: 'work',
  eth_getTransactionReceipt: 'work',
  eth_getTransactionByHash: 'work',
  eth_getBlockByHash: 'work',
};

/** The places where the server is killed, as `test/support/crashing-server.js` names them. */
export const faultPoints: ReadonlyMap<string, Occasion> = new Map([
  ...Object.entries(steps),
  ...aroundEach(writes),
  ...aroundEach(rpcCalls),
]);

function aroundEach(calls: Record<string, Occasion>): [string, Occasion][] {
  return Object.entries(calls).flatMap(([call, occasion]) => [
    [`${call}:before`, occasion],
    [`${call}:after`, occasion],
  ]);
}

/** Whether the server came to an RPC call that has no row here; store calls are held by their type. */
export function isUnknownRpcCall(point: string): boolean {
  return point.startsWith('eth_') && !faultPoints.has(point);
}
