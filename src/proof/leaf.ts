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
  /** SHA-256 of the robot's statement about the result; absent if the robot signs nothing. */
  readonly statement_hash?: string | null;
}

/** What a leaf without a proof commits to: the statement of a claim, or the text that puts a key into use. */
export type FreeLeafKind = 'claim' | 'key_text';

const FREE_LEAF_BYTE = { claim: 0x01, key_text: 0x02 };

/** The prefix of a leaf in RFC 9162. It keeps a leaf from being taken for an inner node. */
const LEAF_PREFIX = Uint8Array.of(0x00);

/**
 * `SHA-256(0x00 ‖ proof_hash ‖ task_id ‖ robot_id ‖ claim_hash)`: 32, 16, 16 and 32 bytes. With a statement, its hash
 * follows: 32 more bytes.
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
        content.statement_hash == null ? new Uint8Array() : hexToBytes(content.statement_hash, 32),
      ),
    ),
  );
}

/**
 * `SHA-256(0x00 ‖ 0x01 ‖ SHA-256(statement))` of a claim, and `SHA-256(0x00 ‖ 0x02 ‖ SHA-256(text))` of a key text. Its
 * length after the prefix, 33 bytes, keeps it from being taken for the leaf of a proof.
 *
 * @throws TypeError if the hash is malformed.
 */
export function freeLeafHash(kind: FreeLeafKind, hash: string): Hex {
  const content = concatBytes(
    LEAF_PREFIX,
    Uint8Array.of(FREE_LEAF_BYTE[kind]),
    hexToBytes(hash, 32),
  );
  return bytesToHex(sha256(content));
}
