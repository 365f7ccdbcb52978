import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const BYTES_OF_AN_ID = 16;
/** For 256 ids: to ask the system for each one's randomness costs more than all the rest of it. */
const random = new Uint8Array(256 * BYTES_OF_AN_ID);
let used = random.length;
let msecs = 0;
let seq = 0;

/**
 * A new id: UUID version 7 (RFC 9562, section 5.7) as text in lower case. Each is greater than those that this process
 * made before, in their order as text too, also within a millisecond and when the clock goes back.
 */
export function newId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const ofThisOne = random.subarray(used, used + BYTES_OF_AN_ID);
  used += BYTES_OF_AN_ID;
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    seq = firstOfMillisecond(ofThisOne);
  } else {
    seq = (seq + 1) | 0;
    if (seq === 0) msecs += 1;
  }
  return uuidv7({ random: ofThisOne, msecs, seq });
}

/** 31 random bits of the 32: that many more ids fit the millisecond. */
function firstOfMillisecond(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.getUint32(0) & 0x7f_ff_ff_ff;
}
