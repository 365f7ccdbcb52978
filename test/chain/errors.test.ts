import { describe, expect, it } from 'vitest';
import {
  type BroadcastOutcome,
  broadcastOutcome,
  isBatchTooLarge,
  isDeterministicRefusal,
  isRateLimit,
  isUnsupported,
  type RefusalMeaning,
} from '../../src/chain/errors.ts';

/**
 * Literal texts, and the file of the node's repository (or the page of the provider) that has them:
 * geth core/txpool/errors.go, core/error.go, core/txpool/validation.go, core/txpool/legacypool, internal/ethapi/api.go
 * erigon erigon-lib/txpool/txpoolcfg/txpoolcfg.go (DiscardReason)
 * reth crates/rpc/rpc-eth-types/src/error/mod.rs (RpcPoolError, RpcInvalidTransactionError)
 * anvil crates/anvil/src/eth/error.rs; besu RpcErrorType.java
 * nethermind TxPool/AcceptTxResult.cs (names until 2025), TxPool/TxPoolErrorMessages.cs (words since)
 * arbitrum, parity, avalanche, metis, harmony, substrate, klaytn, zksync: as collected in chainlink
 * core/chains/evm/client/errors.go; proxyd (OP-stack gateways) proxyd/backend.go
 * Infura: its page on rate limits; Alchemy: reference/throughput; QuickNode: error code -32007 as seen by its users
 */
type Row = [node: string, code: number, text: string];

const cases: Record<BroadcastOutcome['outcome'], Row[]> = {
  accepted: [],
  known: [
    ['geth', -32000, 'already known'],
    ['old geth', -32000, 'known transaction: 4b1c…'],
    ['anvil', -32003, 'transaction already imported'],
    ['anvil', -32003, 'Tx: [0x4b1c…] already Imported'],
    ['reth', -32000, 'already known'],
    ['erigon', -32000, 'existing tx with same hash'],
    ['erigon, by the gateway', -32000, 'INTERNAL_ERROR: existing tx with same hash'],
    ['nethermind', -32010, 'AlreadyKnown'],
    ['nethermind since 2026', -32010, 'already known'],
    ['besu', -32000, 'Known transaction'],
    ['parity', -32010, 'Transaction with the same hash was already imported.'],
    ['zksync', -32000, 'known transaction. transaction with hash 0x4b… is already in the system'],
    ['substrate', 1010, 'submit transaction to pool failed: Pool(AlreadyImported)'],
  ],
  nonce_used: [
    ['geth', -32000, 'nonce too low: next nonce 8, tx nonce 7'],
    ['older geth', -32000, 'nonce too low: address 0xf39F…, tx: 7 state: 8'],
    ['anvil', -32003, 'nonce too low'],
    ['reth', -32000, 'nonce too low: next nonce 8, tx nonce 7'],
    ['erigon', -32000, 'nonce too low'],
    ['nethermind', -32010, 'OldNonce'],
    ['nethermind', -32010, 'OldNonce, Current nonce: 8, nonce of rejected tx: 7'],
    ['nethermind since 2026', -32010, 'nonce too low'],
    ['besu', -32001, 'Nonce too low'],
    ['parity', -32010, 'Transaction nonce is too low. Try incrementing the nonce.'],
    ['arbitrum', -32000, 'nonce too low: address 0xf39F…, tx: 7 state: 8'],
    ['avalanche', -32000, 'nonce too low: address 0xf39F… current nonce (8) > tx nonce (7)'],
    ['zksync', -32000, 'nonce too low. allowed nonce range: 8 - 58, actual: 7'],
    ['harmony', -32000, 'transaction already finalized'],
    ['substrate', 1010, 'submit transaction to pool failed: Pool(Stale)'],
  ],
  refused: [
    [
      'geth',
      -32000,
      'insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1',
    ],
    ['reth', -32003, 'insufficient funds for gas * price + value: have 0 want 1'],
    ['anvil', -32003, 'Insufficient funds for gas * price + value'],
    ['erigon', -32000, 'insufficient funds'],
    ['nethermind', -32010, 'InsufficientFunds, Account balance: 0, cumulative cost: 1'],
    ['besu', -32004, 'Upfront cost exceeds account balance'],
    ['arbitrum', -32000, 'not enough funds for gas'],
    ['old geth', -32000, 'transaction would cause overdraft'],
    ['geth', -32000, 'transaction underpriced'],
    ['geth', -32000, 'transaction underpriced: gas tip cap 1, minimum needed 1000000'],
    ['geth', -32000, 'replacement transaction underpriced'],
    ['geth', -32000, 'future transaction tries to replace pending'],
    ['geth', -32000, 'max fee per gas less than block base fee: address 0x…'],
    ['anvil', -32003, 'max fee per gas less than block base fee'],
    ['anvil', -32003, 'Tx: [0x…] insufficient gas price to replace existing transaction'],
    ['reth', -32003, 'transaction priority fee below minimum required priority fee 1000000'],
    ['erigon', -32000, 'underpriced'],
    ['erigon', -32000, 'fee too low'],
    ['erigon', -32000, 'could not replace existing tx'],
    ['nethermind', -32010, 'FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7'],
    ['nethermind', -32010, 'FeeTooLowToCompete'],
    ['nethermind', -32010, 'ReplacementNotAllowed'],
    ['besu', -32000, 'Replacement transaction underpriced'],
    ['besu', -32009, 'Gas price below configured minimum gas price'],
    ['besu', -32009, 'Gas price below current base fee'],
    ['arbitrum', -32000, 'gas price too low'],
    ['metis', -32000, 'gas price too low: 1 wei, use at least tx.gasPrice = 7 wei'],
    [
      'parity',
      -32010,
      'Transaction gas price 1 is too low. There is another transaction with same nonce in the queue: 2',
    ],
    ['klaytn', -32000, 'there is another tx which has the same nonce in the tx pool'],
    ['geth', -32000, 'exceeds block gas limit'],
    ['geth', -32000, 'intrinsic gas too low: gas 21000, minimum needed 23800'],
    ['geth', -32000, 'insufficient gas for floor data gas cost: gas 21000, minimum needed 24000'],
    ['reth', -32000, 'exceeds max transaction gas limit'],
    ['erigon', -32000, 'IntrinsicGas'],
    ['nethermind', -32010, 'GasLimitExceeded, Gas limit: 100, gas limit of rejected tx: 200'],
    ['besu', -32003, 'Intrinsic gas exceeds gas limit'],
    ['besu', -32005, 'Transaction gas limit exceeds block gas limit'],
    ['geth', -32000, 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)'],
    ['besu', -32000, 'Transaction fee cap exceeded'],
    ['geth', -32000, 'txpool is full'],
    ['geth', -32000, 'account limit exceeded'],
    ['geth', -32000, 'address already reserved'],
    ['geth', -32000, 'in-flight transaction limit reached for delegated accounts'],
    ['geth', -32000, 'gapped-nonce tx from delegated accounts'],
    ['erigon', -32000, 'pending sub-pool is full'],
    ['erigon', -32000, 'spammer'],
    ['arbitrum', -32000, 'queue full'],
    ['arbitrum', -32000, 'sequencer pending tx pool full, please try again'],
    ['geth', -32000, 'nonce too high'],
    ['nethermind', -32010, 'NonceGap, Future nonce. Expected nonce: 8'],
    ['nethermind since 2026', -32010, 'nonce too far in future'],
    ['besu', -32000, 'Transaction nonce is too distant from current sender nonce'],
    ['geth', -32000, 'invalid chain id for signer: have 1 want 5'],
    ['reth', -32000, 'invalid chain ID'],
    ['besu', -32000, 'Wrong chainId'],
  ],
  unknown: [
    ['infura', -32005, 'daily request count exceeded, request rate limited'],
    ['infura', -32005, 'project ID request rate exceeded'],
    ['infura', 402, 'Payment Required'],
    ['alchemy', 429, 'Your app has exceeded its compute units per second capacity'],
    ['alchemy', 429, 'Monthly capacity limit exceeded. Visit the dashboard to upgrade'],
    ['quicknode', -32007, '25/second request limit reached'],
    ['proxyd', -32011, 'no backends available for method'],
    ['proxyd', -32012, 'backend is over capacity'],
    ['proxyd', -32014, 'too many RPC calls in batch request'],
    ['proxyd', -32015, 'gateway timeout'],
    ['proxyd', -32016, 'over rate limit'],
    ['proxyd', -32017, 'sender is over rate limit'],
    ['besu', -32005, 'Number of requests exceeds max batch size'],
    ['besu', -32008, 'Initial sync is still in progress'],
    ['any', -32603, 'Internal error'],
    ['any', -32000, 'request timed out'],
    ['any', -32000, 'something that no node says'],
    ['any', -32000, 'unknown transaction type'],
    ['any', -32000, 'Unknown transaction'],
    ['any', -32602, 'unsupported: not a known transaction type'],
    ['any', -32601, 'the method eth_sendRawTransaction does not exist/is not available'],
  ],
};

const meanings: Partial<Record<RefusalMeaning, Row[]>> = {
  underfunded: [
    [
      'geth',
      -32000,
      'insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1',
    ],
    ['nethermind', -32010, 'InsufficientFunds, Account balance: 0, cumulative cost: 1'],
    ['besu', -32004, 'Upfront cost exceeds account balance'],
  ],
  underpriced: [
    ['geth', -32000, 'replacement transaction underpriced'],
    ['anvil', -32003, 'Tx: [0x…] insufficient gas price to replace existing transaction'],
    ['erigon', -32000, 'could not replace existing tx'],
    ['besu', -32009, 'Gas price below current base fee'],
  ],
  not_accepted: [
    ['geth', -32000, 'txpool is full'],
    ['erigon', -32000, 'baseFee sub-pool is full'],
    ['geth', -32000, 'account limit exceeded'],
  ],
};

describe('broadcastOutcome', () => {
  for (const [outcome, rows] of Object.entries(cases)) {
    it.each(rows)(`reads the message of %s (%i %s) as ${outcome}`, (_node, rpcCode, reason) => {
      expect(broadcastOutcome({ rpcCode, reason }).outcome).toBe(outcome);
    });
  }
});

describe('the meaning of a refusal', () => {
  for (const [meaning, rows] of Object.entries(meanings)) {
    it.each(rows)(`of %s (%i %s) is ${meaning}`, (_node, rpcCode, reason) => {
      expect(broadcastOutcome({ rpcCode, reason })).toMatchObject({ outcome: 'refused', meaning });
    });
  }
});

describe('isRateLimit', () => {
  it.each([
    ['infura', -32005, 'project ID request rate exceeded'],
    ['alchemy', 429, 'Your app has exceeded its compute units per second capacity'],
    ['quicknode', -32007, '25/second request limit reached'],
    ['proxyd', -32016, 'over rate limit'],
  ])('is true for the message of %s (%i %s)', (_provider, rpcCode, reason) => {
    expect(isRateLimit({ rpcCode, reason })).toBe(true);
  });

  it.each([
    ['geth', -32000, 'nonce too low'],
    ['geth', -32000, 'account limit exceeded'],
    ['any', -32603, 'Internal error'],
  ])('is false for the message of %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isRateLimit({ rpcCode, reason })).toBe(false);
  });
});

describe('isDeterministicRefusal', () => {
  it.each([
    ['geth', 3, 'execution reverted'],
    ['anvil', -32003, 'execution reverted: EvmError: Revert'],
    ['geth', -32000, 'gas required exceeds allowance (30000000)'],
    ['anvil', -32003, 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit'],
    ['reth', -32000, 'intrinsic gas too low'],
    ['besu', -32015, 'Execution reverted'],
  ])('is true if every node would answer the same: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isDeterministicRefusal({ rpcCode, reason })).toBe(true);
  });

  it.each([
    ['geth', -32000, 'insufficient funds for gas * price + value'],
    ['geth, without funds', -32000, 'gas required exceeds allowance (0)'],
    ['geth', -32000, 'header not found'],
    ['any', -32005, 'limit exceeded'],
    ['any', -32603, 'Internal error'],
  ])('is false for a temporary error: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isDeterministicRefusal({ rpcCode, reason })).toBe(false);
  });
});

describe('isUnsupported', () => {
  it.each([
    ['geth', -32601, 'the method eth_maxPriorityFeePerGas does not exist/is not available'],
    ['hardhat', -32004, 'Method eth_maxPriorityFeePerGas is not supported'],
    ['ganache', -32000, 'Method eth_maxPriorityFeePerGas not supported.'],
    ['any', -32601, 'no'],
    ['any', -32000, 'Unsupported method: eth_maxPriorityFeePerGas on ETH_MAINNET'],
  ])('is true if the method does not exist: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isUnsupported({ rpcCode, reason })).toBe(true);
  });

  it.each([
    ['any', -32005, 'rate limit of this method exceeded'],
    ['any', -32603, 'Internal error'],
    ['any', -32000, 'service unavailable'],
  ])('is false for a temporary error: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isUnsupported({ rpcCode, reason })).toBe(false);
  });
});

describe('isBatchTooLarge', () => {
  it.each([
    ['geth', 'batch too large'],
    ['reth', 'The batch request was too large'],
    [
      'erigon',
      'batch limit 100 exceeded (can increase by --rpc.batch.limit). Requested batch of size: 101',
    ],
    ['besu', 'Number of requests exceeds max batch size'],
    ['nethermind', 'Batch size limit exceeded'],
    ['drpc', 'Batch of more than 3 requests are not allowed on free tier'],
  ])('recognizes the message of %s', (_node, reason) => {
    expect(isBatchTooLarge(reason)).toBe(true);
  });

  it.each(['rate limit exceeded', 'execution reverted', 'request count exceeded'])(
    'is false for %s',
    (reason) => {
      expect(isBatchTooLarge(reason)).toBe(false);
    },
  );
});
