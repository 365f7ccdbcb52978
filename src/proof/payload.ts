// The calldata of an anchor: a single leaf or a Merkle root.
import { concatBytes } from '@noble/hashes/utils.js';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import { MAX_LEAF_COUNT } from './tree.ts';

/** One proof anchored alone, so that a block explorer shows its hash. */
export interface SinglePayload {
  readonly kind: 'single';
  readonly proof_hash: Hex;
  readonly leaf: Hex;
}

/** The root of at least two leaves. */
export interface BatchPayload {
  readonly kind: 'batch';
  readonly root: Hex;
  readonly leaf_count: number;
}

/** The calldata of an anchoring transaction. Hashes are 32 bytes. */
export type Payload = SinglePayload | BatchPayload;

/** "RTPA" and the version of the format. */
const HEADER = Uint8Array.of(0x52, 0x54, 0x50, 0x41, 0x01);
const SINGLE = 0x00;
const BATCH = 0x01;
const SINGLE_LENGTH = 70;
const BATCH_LENGTH = 42;
const KIND_AT = HEADER.length;
const BODY_AT = KIND_AT + 1;

/**
 * `52545041 01 00 ‖ proof hash ‖ leaf` (70 bytes) or `52545041 01 01 ‖ root ‖ leaf count` (42 bytes,
 * the count 4 bytes big-endian), as lowercase hex.
 *
 * @throws TypeError if a hash is not 32 bytes of hex. RangeError if a leaf count is not a whole
 *   number from 2 to 2^32 − 1.
 */
export function encodePayload(payload: Payload): Hex {
  if (payload.kind === 'single') {
    const { proof_hash, leaf } = payload;
    return bytesToHex(
      concatBytes(HEADER, Uint8Array.of(SINGLE), hexToBytes(proof_hash, 32), hexToBytes(leaf, 32)),
    );
  }
  const { root, leaf_count } = payload;
  if (!Number.isInteger(leaf_count) || leaf_count < 2 || leaf_count > MAX_LEAF_COUNT) {
    throw new RangeError('A batch holds between 2 and 2^32 - 1 leaves');
  }
  const count = new Uint8Array(4);
  new DataView(count.buffer).setUint32(0, leaf_count);
  return bytesToHex(concatBytes(HEADER, Uint8Array.of(BATCH), hexToBytes(root, 32), count));
}

/**
 * Reads calldata with hex digits in any case. Null if it is not exactly a payload: it has another
 * header, kind or length, or is a batch of fewer than two leaves.
 */
export function decodePayload(calldata: string): Payload | null {
  // Check the length first, so that huge calldata costs nothing.
  if (calldata.length !== 2 + 2 * SINGLE_LENGTH && calldata.length !== 2 + 2 * BATCH_LENGTH) {
    return null;
  }
  if (!/^0x[0-9a-fA-F]*$/.test(calldata)) return null;
  const bytes = hexToBytes(calldata);
  if (!HEADER.every((byte, i) => bytes[i] === byte)) return null;
  const kind = bytes[KIND_AT];
  const first = bytesToHex(bytes.subarray(BODY_AT, BODY_AT + 32));
  if (kind === SINGLE && bytes.length === SINGLE_LENGTH) {
    return { kind: 'single', proof_hash: first, leaf: bytesToHex(bytes.subarray(BODY_AT + 32)) };
  }
  if (kind === BATCH && bytes.length === BATCH_LENGTH) {
    const leaf_count = new DataView(bytes.buffer).getUint32(BODY_AT + 32);
    return leaf_count < 2 ? null : { kind: 'batch', root: first, leaf_count };
  }
  return null;
}
