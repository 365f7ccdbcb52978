// Ids of tasks and samples: UUIDs of version 7.
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const BYTES_OF_ONE = 16;

/** Fetching random bytes takes longer than the rest of an id, however few they are. */
const random = new Uint8Array(256 * BYTES_OF_ONE);
let used = random.length;

/** A new id. Ids of the same millisecond are in no order. */
export function newId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += BYTES_OF_ONE;
  return v7({ random: random.subarray(used - BYTES_OF_ONE, used) });
}
