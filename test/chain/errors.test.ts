import { describe, expect, it } from 'vitest';
import {
  type BroadcastOutcome,
  broadcastOutcome,
  isDeterministicRefusal,
  isUnsupported,
} from '../../src/chain/errors.ts';

type Row = [node: string, code: number, text: string];

const cases: Record<BroadcastOutcome['outcome'], Row[]> = {
  accepted: [],
  known: [
    ['geth', -32000, 'already known'],
    ['old geth', -32000, 'known transaction: 4b1c…'],
    ['anvil', -32003, 'transaction already imported'],
    ['reth', -32000, 'already known'],
    ['erigon', -32000, 'existing tx with same hash'],
    ['nethermind', -32010, 'AlreadyKnown'],
    ['besu', -32000, 'Known transaction'],
    ['parity', -32010, 'Transaction with the same hash was already imported.'],
  ],
  nonce_used: [
    ['geth', -32000, 'nonce too low: next nonce 8, tx nonce 7'],
    ['anvil', -32003, 'nonce too low'],
    ['reth', -32000, 'nonce too low: next nonce 8, tx nonce 7'],
    ['erigon', -32000, 'nonce too low'],
    ['nethermind', -32010, 'OldNonce'],
    ['besu', -32001, 'Nonce too low'],
    ['parity', -32010, 'Transaction nonce is too low. Try incrementing the nonce.'],
  ],
  refused: [
    ['geth', -32000, 'insufficient funds for gas * price + value: balance 0, tx cost 1'],
    ['anvil', -32003, 'Insufficient funds for gas * price + value'],
    ['nethermind', -32010, 'InsufficientFunds, Account balance: 0'],
    ['besu', -32004, 'Upfront cost exceeds account balance'],
    ['geth', -32000, 'transaction underpriced'],
    ['geth', -32000, 'replacement transaction underpriced'],
    ['geth', -32000, 'max fee per gas less than block base fee: address 0x…'],
    ['anvil', -32003, 'max fee per gas less than block base fee'],
    ['nethermind', -32010, 'FeeTooLowToCompete'],
    ['nethermind', -32010, 'ReplacementNotAllowed'],
    ['geth', -32000, 'exceeds block gas limit'],
    ['geth', -32000, 'intrinsic gas too low: gas 21000, minimum needed 23800'],
    ['geth', -32000, 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)'],
    ['geth', -32000, 'txpool is full'],
    ['geth', -32000, 'nonce too high'],
    ['nethermind', -32010, 'NonceGap'],
    ['geth', -32000, 'invalid chain id for signer: have 1 want 5'],
  ],
  unknown: [
    ['any', -32005, 'daily request count exceeded, request rate limited'],
    ['any', 429, 'Your app has exceeded its compute units per second capacity'],
    ['any', -32603, 'Internal error'],
    ['any', -32000, 'request timed out'],
    ['any', -32000, 'something that no node says'],
    ['any', -32000, 'unknown transaction type'],
    ['any', -32000, 'Unknown transaction'],
    ['any', -32602, 'unsupported: not a known transaction type'],
    ['any', -32601, 'the method eth_sendRawTransaction does not exist/is not available'],
  ],
};

describe('broadcastOutcome', () => {
  for (const [outcome, rows] of Object.entries(cases)) {
    it.each(rows)(`takes the words of %s (%i %s) for ${outcome}`, (_node, rpcCode, reason) => {
      expect(broadcastOutcome({ rpcCode, reason }).outcome).toBe(outcome);
    });
  }
});

describe('isDeterministicRefusal', () => {
  it.each([
    ['geth', 3, 'execution reverted'],
    ['anvil', -32003, 'execution reverted: EvmError: Revert'],
    ['geth', -32000, 'gas required exceeds allowance (30000000)'],
    ['anvil', -32003, 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit'],
    ['reth', -32000, 'intrinsic gas too low'],
    ['besu', -32015, 'Execution reverted'],
  ])('holds for what every node would answer: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isDeterministicRefusal({ rpcCode, reason })).toBe(true);
  });

  it.each([
    ['geth', -32000, 'insufficient funds for gas * price + value'],
    ['geth, without funds', -32000, 'gas required exceeds allowance (0)'],
    ['geth', -32000, 'header not found'],
    ['any', -32005, 'limit exceeded'],
    ['any', -32603, 'Internal error'],
  ])('does not hold for what can pass: %s (%i %s)', (_node, rpcCode, reason) => {
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
  ])('holds where there is no such method: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isUnsupported({ rpcCode, reason })).toBe(true);
  });

  it.each([
    ['any', -32005, 'rate limit of this method exceeded'],
    ['any', -32603, 'Internal error'],
    ['any', -32000, 'service unavailable'],
  ])('does not hold for what can pass: %s (%i %s)', (_node, rpcCode, reason) => {
    expect(isUnsupported({ rpcCode, reason })).toBe(false);
  });
});
