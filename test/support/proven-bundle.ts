import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  type Hex,
  keccak256,
  serializeTransaction,
  type TransactionSerializable,
  toRlp,
} from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { Bundle } from '../../src/proof/bundle.ts';
import { hexToBytes } from '../../src/proof/bytes.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import type { Proof } from '../../src/proof/json-value.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { hex, sha256 } from '../proof/reference.ts';
import { anvilAccounts } from './anvil.ts';
import { trieProof } from './synthetic-block.ts';

/** A bundle of format 2 and the hash of its block. */
export interface ProvenBundle {
  readonly bundle: Bundle & Required<Pick<Bundle, 'chain_proof'>>;
  readonly blockHash: Hex;
  /** Every transaction of the block. */
  readonly transactions: readonly Hex[];
}

interface Options {
  /** Proofs in the anchor. */
  readonly proofs?: number;
  /** Other transactions in the block, half of them before the anchor. */
  readonly others?: number;
  /** Members of the anchor's transaction in place of the honest ones. */
  readonly transaction?: Partial<TransactionSerializable>;
  readonly privateKey?: Hex;
  readonly evidence?: Proof;
  /** Changes the signed transaction before it is put into the block. */
  readonly raw?: (raw: Hex) => Hex;
  /** The trie in place of the honest one, for the transaction in the block. */
  readonly trie?: (transaction: Hex) => { root: Hex; nodes: readonly Hex[] };
  /** Changes the members of the block header, in RLP order. */
  readonly header?: (members: RlpMembers) => RlpMembers;
}

export type RlpMembers = readonly (Hex | readonly Hex[])[];

const chainId = 31337;
const seconds = 1_772_352_930;

/** A bundle that holds, but for what the options forge: block, trie and signature are consistent. */
export function provenBundle(options: Options = {}): ProvenBundle {
  const { proofs = 1, others = 4, evidence = { picked: 12, spoken: 'Grüße' } } = options;
  const { privateKey = anvilAccounts[0].privateKey } = options;
  const account = privateKeyToAddress(privateKey).toLowerCase() as Hex;
  const { claim, task, proof_hash, payload, inclusions } = workOf(evidence, proofs);
  const signed = sign(
    { ...anchorTransaction(account, encodePayload(payload)), ...options.transaction } as never,
    privateKey,
  );
  const raw_tx = options.raw?.(signed) ?? signed;
  const transactions = otherTransactions(others);
  const tx_index = others >> 1;
  transactions.splice(tx_index, 0, raw_tx);
  const { root, nodes } =
    options.trie?.(raw_tx) ??
    trieProof(
      transactions.map((raw) => hexToBytes(raw)),
      tx_index,
    );
  const members = headerMembers(root);
  const header = toRlp((options.header?.(members) ?? members) as Hex[]);
  const block_hash = keccak256(header);
  return {
    bundle: {
      format: 'svc-bundle/2',
      chain_id: chainId,
      task,
      claim,
      proof: evidence,
      proof_hash,
      inclusion: inclusions[0] ?? null,
      anchor: {
        tx_hash: keccak256(raw_tx),
        block_number: '42',
        block_hash,
        tx_index,
        from: account,
        anchored_at: new Date(seconds * 1000).toISOString(),
        raw_tx,
      },
      chain_proof: { header, nodes },
    },
    blockHash: block_hash,
    transactions,
  };
}

/** A claim and its task, and what anchors the evidence as the first of `proofs`. */
export function workOf(evidence: Proof, proofs: number) {
  const claim = {
    created_at: '2026-03-01T08:00:00.000Z',
    description: 'belt 3',
    expected_result: { parcels: 12 },
    occurred_at: '2026-03-01T09:00:00+01:00',
    title: 'Sort the parcels',
  };
  const task = {
    id: '0195a1e0-7c00-7000-8000-000000000001',
    robot_id: '0195a1e0-7c00-7000-8000-000000000002',
    robot_name: 'arm-1',
  };
  const proof_hash = hashProof(evidence);
  const leaf = leafHash({
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: hashClaim(claim),
  });
  const leaves = Array.from({ length: proofs - 1 }, (_, i) => ({
    proof_hash: hex(sha256(`proof ${i}`)),
    leaf: hex(sha256(`leaf ${i}`)),
  }));
  const { payload, inclusions } = commitLeaves([{ proof_hash, leaf }, ...leaves]);
  return { claim, task, proof_hash, payload, inclusions };
}

/** The anchor as the service signs it, type 2. */
function anchorTransaction(account: Hex, data: Hex): TransactionSerializable {
  return {
    type: 'eip1559',
    chainId,
    nonce: 7,
    to: account,
    value: 0n,
    data,
    gas: 60_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
  };
}

/** Signs a transaction of any type. */
export function sign(transaction: TransactionSerializable, privateKey: Hex): Hex {
  const hash = keccak256(serializeTransaction(transaction)).slice(2);
  const { r, s, recovery } = secp256k1.sign(hash, privateKey.slice(2));
  return serializeTransaction(transaction, {
    r: word(r),
    s: word(s),
    v: BigInt(27 + recovery),
    yParity: recovery,
  });
}

function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

const others: Hex[] = [];

/** The first `count` of the same transactions: to sign them takes most of the time of a bundle. */
function otherTransactions(count: number): Hex[] {
  const { address, privateKey } = anvilAccounts[1];
  for (let nonce = others.length; nonce < count; nonce += 1) {
    const to = { to: address, value: 1n, gas: 21_000n, gasPrice: 1n };
    others.push(sign({ type: 'legacy', chainId, nonce, ...to }, privateKey));
  }
  return others.slice(0, count);
}

/** A header of Cancun at number 42. */
function headerMembers(transactionsRoot: Hex): RlpMembers {
  const hash = (name: string) => hex(sha256(name));
  const [zero, number, time]: [Hex, Hex, Hex] = ['0x', '0x2a', `0x${seconds.toString(16)}`];
  const account: Hex = `0x${'c0'.repeat(20)}`;
  return [
    ...[hash('parent'), hash('uncles'), account, hash('state'), transactionsRoot, hash('receipts')],
    ...[`0x${'00'.repeat(256)}`, zero, number, '0x01c9c380', '0x5208', time, '0x737663'],
    ...[hash('random'), `0x${'00'.repeat(8)}`, '0x3b9aca00', hash('withdrawals'), zero, zero],
    hash('beacon'),
  ] as RlpMembers;
}
