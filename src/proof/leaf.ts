// The leaf of a proof in the Merkle tree.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, type Hex, hexToBytes, uuidToBytes } from './bytes.ts';

/** What one leaf binds together. Hashes are 32 bytes of hex, ids are UUIDs in lower case. */
export interface LeafContent {
  readonly proof_hash: string;
  readonly task_id: string;
  readonly robot_id: string;
  readonly claim_hash: string;
}

/** RFC 9162's prefix of a leaf, which keeps a leaf from passing for a node of the tree. */
const LEAF_PREFIX = Uint8Array.of(0x00);

/**
 * `SHA-256(0x00 ‖ proof_hash ‖ task_id ‖ robot_id ‖ claim_hash)`: 32, 16, 16 and 32 bytes.
 *
 * @throws TypeError when a hash or id is malformed.
 */
export function leafHash(content: LeafContent): Hex {
  return bytesToHex(
    sha256(
      concatBytes(
        LEAF_PREFIX,
        hexToBytes(content.proof_hash, 32),
        uuidToBytes(content.task_id),
        uuidToBytes(content.robot_id),
        hexToBytes(content.claim_hash, 32),
      ),
    ),
  );
}
