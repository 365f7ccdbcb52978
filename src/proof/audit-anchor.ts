// Checks a stated anchor against the data of the chain.
import { type AuditCheck, type AuditCheckName, check, sameHex } from './audit-check.ts';
import type { Hex } from './bytes.ts';
import { type LeafContent, leafHash } from './leaf.ts';
import { decodePayload, type Payload } from './payload.ts';
import { type Inclusion, rootFromPath } from './tree.ts';

/**
 * The statements of a document about the place of an anchor. Hashes and addresses are hex in any case, `block_number` is
 * a decimal string, and `anchored_at` an ISO 8601 time in UTC with milliseconds. Absent members are not checked.
 */
export interface StatedPlace {
  readonly chain_id: number;
  /** Null if the proof was anchored alone. */
  readonly inclusion: Inclusion | null;
  readonly tx_hash: string;
  readonly block_number?: string | undefined;
  readonly block_hash?: string | undefined;
  /** Index of the transaction in its block. */
  readonly tx_index?: number | undefined;
  readonly anchored_at?: string | undefined;
  readonly from?: string | undefined;
}

/** The statements of a receipt or bundle about an anchor. Ids are UUIDs in lowercase. */
export interface StatedAnchor extends StatedPlace, LeafContent {}

/** The statements of a document about the anchor of a leaf of which only the hash is known. */
export interface StatedLeaf extends StatedPlace {
  readonly leaf: Hex;
}

/** The data of the chain, read from a node; null if the node does not know it. */
export interface ChainFacts {
  readonly chain_id: number;
  readonly tx: null | {
    readonly hash: Hex;
    readonly from: Hex;
    /** Null if the transaction creates a contract. */
    readonly to: Hex | null;
    /** Decimal, in wei. */
    readonly value: string;
    readonly input: Hex;
  };
  readonly receipt: null | {
    readonly status: 'success' | 'reverted';
    readonly block_number: string;
    readonly block_hash: Hex;
    readonly tx_index: number;
  };
  /** The current block at the number of the receipt; `timestamp` as in `anchored_at`. */
  readonly canonical_block: null | {
    readonly hash: Hex;
    readonly number: string;
    readonly timestamp: string;
  };
}

/**
 * Compares a stated anchor with the data of the chain, without the service and without I/O. Always checks `chain`,
 * `transaction_found`, `status`, `canonical_block`, `self_transfer` and `payload`. For a proof anchored alone it checks
 * `proof_hash` and `leaf`, for one in a batch `leaf_count`, `root` and `inclusion_path`. It checks `sender`,
 * `block_number`, `block_hash`, `tx_index` and `anchored_at` if they are stated. A malformed statement fails its check;
 * nothing is thrown.
 */
export function auditAnchor(stated: StatedAnchor | StatedLeaf, facts: ChainFacts): AuditCheck[] {
  const checks = [
    ...auditTransaction(stated, facts),
    ...auditPayload(stated, facts.tx?.input ?? null),
    ...auditBlock(stated, facts),
  ].filter(({ name }) => {
    const member = optional[name];
    return member === undefined || stated[member] !== undefined;
  });
  return facts.tx === null ? checks.map(withoutTransaction) : checks;
}

/** Members that may be absent, by the check that needs them. Without its member, the check is left out. */
const optional: Partial<Record<AuditCheckName, keyof StatedPlace>> = {
  sender: 'from',
  block_number: 'block_number',
  block_hash: 'block_hash',
  tx_index: 'tx_index',
  anchored_at: 'anchored_at',
};

/** Fails every check that needs the transaction, because the node does not have it. */
function withoutTransaction(found: AuditCheck): AuditCheck {
  if (found.ok || found.name === 'chain' || found.name === 'transaction_found') return found;
  return { ...found, detail: 'Cannot be checked without the transaction' };
}

function auditTransaction(stated: StatedPlace, facts: ChainFacts): AuditCheck[] {
  const { tx, receipt, canonical_block: block } = facts;
  return [
    check('chain', facts.chain_id === stated.chain_id, {
      holds: 'The node is on the stated chain',
      fails: `The node is on chain ${facts.chain_id}, stated is ${stated.chain_id}`,
    }),
    check('transaction_found', tx !== null && sameHex(tx.hash, stated.tx_hash), {
      holds: 'The node knows the stated transaction',
      fails: 'The node does not know the stated transaction',
    }),
    check('status', receipt?.status === 'success', {
      holds: 'The transaction succeeded',
      fails: receipt === null ? 'The transaction is in no block' : 'The transaction was reverted',
    }),
    check(
      'canonical_block',
      receipt !== null &&
        block !== null &&
        sameHex(block.hash, receipt.block_hash) &&
        block.number === receipt.block_number,
      {
        holds: 'The block is part of the chain',
        fails: 'The block of the transaction is not part of the chain',
      },
    ),
    check(
      'self_transfer',
      tx !== null && tx.to !== null && sameHex(tx.to, tx.from) && tx.value === '0',
      {
        holds: 'Sender and recipient are one account, and the value is 0',
        fails: 'The transaction is not an empty transfer from an account to itself',
      },
    ),
    check('sender', tx !== null && sameHex(tx.from, stated.from), {
      holds: 'The stated account sent the transaction',
      fails: 'The stated account did not send the transaction',
    }),
  ];
}

/** `payload`, and the checks that compare it with the statements. Without calldata each check fails. */
export function auditPayload(
  stated: StatedAnchor | StatedLeaf,
  calldata: Hex | null,
): AuditCheck[] {
  const payload = calldata === null ? null : decodePayload(calldata);
  const leaf = 'leaf' in stated ? stated.leaf : leafOf(stated);
  return stated.inclusion === null
    ? auditSingle(stated, leaf, payload)
    : auditBatch(stated.inclusion, leaf, payload);
}

function auditSingle(stated: StatedAnchor | StatedLeaf, leaf: Hex | null, payload: Payload | null) {
  const single = payload?.kind === 'single' ? payload : null;
  return [
    check('payload', single !== null, {
      holds: 'The calldata is the anchor of one proof and nothing else',
      fails: 'The calldata is not the anchor of one proof',
    }),
    ...('leaf' in stated
      ? []
      : [
          check('proof_hash', single !== null && sameHex(single.proof_hash, stated.proof_hash), {
            holds: 'The calldata holds the proof hash',
            fails: 'The calldata holds another proof hash',
          }),
        ]),
    check('leaf', single !== null && single.leaf === leaf, {
      holds: 'The leaf in the calldata matches proof, task, robot and claim',
      fails: 'Proof, task, robot and claim do not make the leaf in the calldata',
    }),
  ];
}

function auditBatch(stated: Inclusion | undefined, leaf: Hex | null, payload: Payload | null) {
  const batch = payload?.kind === 'batch' ? payload : null;
  const inclusion: Partial<Inclusion> = Object(stated); // Whatever was stated has members, or none.
  const reached = leaf === null ? null : rootReached(leaf, inclusion);
  return [
    check('payload', batch !== null, {
      holds: 'The calldata is exactly one batch of proofs',
      fails: 'The calldata is not exactly one batch of proofs',
    }),
    check('leaf_count', batch !== null && batch.leaf_count === inclusion.leaf_count, {
      holds: 'The calldata holds the stated leaf count',
      fails: 'The calldata holds another leaf count',
    }),
    check('root', batch !== null && sameHex(batch.root, inclusion.root), {
      holds: 'The calldata holds the stated root',
      fails: 'The calldata holds another root',
    }),
    check('inclusion_path', batch !== null && batch.root === reached, {
      holds:
        'Proof, task, robot and claim make a leaf whose path leads to the root in the calldata',
      fails: 'No path leads from proof, task, robot and claim to the root in the calldata',
    }),
  ];
}

function auditBlock(stated: StatedPlace, { receipt, canonical_block: block }: ChainFacts) {
  return [
    check('block_number', receipt?.block_number === stated.block_number, {
      holds: 'The transaction is in the stated block',
      fails: 'The transaction is not in the stated block',
    }),
    check('block_hash', receipt !== null && sameHex(receipt.block_hash, stated.block_hash), {
      holds: 'Its block has the stated hash',
      fails: 'Its block has another hash than stated',
    }),
    check('tx_index', receipt?.tx_index === stated.tx_index, {
      holds: 'The transaction has the stated index in the block',
      fails: 'The transaction has another index in the block than stated',
    }),
    check('anchored_at', block?.timestamp === stated.anchored_at, {
      holds: 'The block has the stated time',
      fails: `The block has the time ${block?.timestamp}, stated is ${stated.anchored_at}`,
    }),
  ];
}

function rootReached(leaf: Hex, { leaf_index, leaf_count, path }: Partial<Inclusion>): Hex | null {
  if (leaf_index === undefined || leaf_count === undefined || !Array.isArray(path)) return null;
  return rootFromPath(leaf, { leaf_index, leaf_count, path });
}

/** The leaf of a statement; null if the statement is malformed. */
function leafOf(stated: StatedAnchor): Hex | null {
  try {
    return leafHash(stated);
  } catch {
    return null;
  }
}
