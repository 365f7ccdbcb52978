// What a document states about an anchor: the transaction, its place, and the proof that a block contains it.
import type { Hex } from '../bytes.ts';
import type { JsonValue } from '../json-value.ts';
import type { Inclusion } from '../tree.ts';
import {
  ADDRESS,
  BYTES,
  DECIMAL,
  HASH,
  MAX_NODE_BYTES,
  MAX_PATH_NODES,
  Members,
  TIME,
} from './members.ts';

/** Longest block header read, in bytes. Headers have about 650; those of Polygon can have several KiB. */
export const MAX_HEADER_BYTES = 65_536;

/** An anchoring transaction and its place in the chain. */
export interface AnchorMembers {
  readonly tx_hash: Hex;
  readonly block_number: string;
  readonly block_hash: Hex;
  readonly tx_index: number;
  readonly from: Hex;
  readonly anchored_at: string;
  /** The signed transaction. */
  readonly raw_tx: Hex;
}

/** Proves that a block contains a transaction, to anyone who has the hash of the block. */
export interface ChainProof {
  /** The block header in RLP. */
  readonly header: Hex;
  /** RLP of the nodes of the transactions trie, from the root down to the leaf that holds the transaction. */
  readonly nodes: readonly Hex[];
}

/** The anchor of a free leaf. It is never anchored alone. */
export interface FreeAnchor {
  readonly inclusion: Inclusion;
  readonly anchor: AnchorMembers;
  readonly chain_proof?: ChainProof;
}

/** A leaf with its anchor. It is audited like a bundle. */
export interface AnchoredLeaf extends Omit<FreeAnchor, 'inclusion'> {
  readonly chain_id: number;
  readonly leaf: Hex;
  /** Null if it was anchored alone. */
  readonly inclusion: Inclusion | null;
}

/** Reads the members of `anchor`. The caller refuses others. */
export function anchorIn(anchor: Members): AnchorMembers {
  return {
    tx_hash: anchor.hex('tx_hash', HASH),
    block_number: anchor.text('block_number', DECIMAL),
    block_hash: anchor.hex('block_hash', HASH),
    tx_index: anchor.integer('tx_index', 0),
    from: anchor.hex('from', ADDRESS),
    anchored_at: anchor.text('anchored_at', TIME),
    raw_tx: anchor.hex('raw_tx', BYTES),
  };
}

export function chainProofIn(members: Members): ChainProof {
  const chainProof = {
    header: members.bytes('header', MAX_HEADER_BYTES),
    nodes: members.manyBytes('nodes', 'trie nodes', MAX_PATH_NODES, MAX_NODE_BYTES),
  };
  members.requireNoOther();
  return chainProof;
}

export function freeAnchorIn(members: Members): FreeAnchor {
  return { inclusion: members.batchInclusion(), ...placeIn(members) };
}

/** @throws DocumentError */
export function readAnchoredLeaf(document: JsonValue): AnchoredLeaf {
  const members = new Members('leaf', document);
  return {
    chain_id: members.integer('chain_id', 1),
    leaf: members.hex('leaf', HASH),
    inclusion: members.inclusion(),
    ...placeIn(members),
  };
}

function placeIn(members: Members): Omit<FreeAnchor, 'inclusion'> {
  const anchor = members.object('anchor');
  const read = {
    anchor: anchorIn(anchor),
    ...(members.has('chain_proof')
      ? { chain_proof: chainProofIn(members.object('chain_proof')) }
      : {}),
  };
  anchor.requireNoOther();
  members.requireNoOther();
  return read;
}
