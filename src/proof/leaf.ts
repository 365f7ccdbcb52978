// The leaf of a proof in the Merkle tree.
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { bytesToHex, type Hex, hexToBytes, uuidToBytes } from './bytes.ts';

/** The content of a leaf. Hashes are 32 bytes as hex, ids are UUIDs in lowercase. */
export interface LeafContent {
  readonly proof_hash: string;
  readonly task_id: string;
  readonly robot_id: string;
  readonly claim_hash: string;
}

/** The prefix of a leaf in RFC 9162. It keeps a leaf from being taken for an inner node. */
const LEAF_PREFIX = Uint8Array.of(0x00);

/**
 * `SHA-256(0x00 ‖ proof_hash ‖ task_id ‖ robot_id ‖ claim_hash)`: 32, 16, 16 and 32 bytes.
 *
 * @throws TypeError if a hash or id is malformed.
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
