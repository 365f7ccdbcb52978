// Pages of a list, and cursors sealed so that clients cannot forge them.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { limits } from '../../protocol/limits.ts';
import type { AccountStore } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import type { Page } from '../ports/json-text.ts';

/**
 * One page of a list. `limit` is the validated text of the query. `find` returns up to `count` records in order; it is
 * called with one more than the page size, to detect a next page.
 */
export async function pageOf<Found, Item>(
  limit: string | undefined,
  find: (count: number) => Promise<Found[]>,
  { cursorOf, view }: { cursorOf: (last: Found) => string; view: (found: Found) => Item },
): Promise<Page<Item>> {
  const size = limit === undefined ? limits.pageSize : Number(limit);
  const found = await find(size + 1);
  const records = found.slice(0, size);
  const last = records.at(-1);
  return {
    items: records.map(view),
    next_cursor: found.length > size && last !== undefined ? cursorOf(last) : null,
  };
}

interface Cursors {
  cursorOf(seq: number): string;
  /** Null without a cursor. Throws `invalid_request` for a cursor that this list did not issue. */
  seqOf(cursor: string | undefined): number | null;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const SEQ_BYTES = 8;

/**
 * Cursors of an account's list that is ordered by a sequence shared by all accounts. They are encrypted, because the
 * sequence reveals how much other accounts write. Format: nonce, encrypted sequence number and tag, 36 bytes in
 * base64url.
 */
export async function openCursors(
  store: Pick<AccountStore, 'cursorKey'>,
  list: 'events' | 'ledger',
  wallet: string,
): Promise<Cursors> {
  const key = await store.cursorKey();
  const scope = Buffer.from(`${list} ${wallet}`);
  return {
    cursorOf(seq) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(scope);
      const place = Buffer.alloc(SEQ_BYTES);
      place.writeBigUInt64BE(BigInt(seq));
      const sealed = [nonce, cipher.update(place), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(sealed).toString('base64url');
    },
    seqOf(cursor) {
      if (cursor === undefined) return null;
      const sealed = Buffer.from(cursor, 'base64url');
      const end = NONCE_BYTES + SEQ_BYTES;
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES));
      decipher.setAAD(scope).setAuthTag(sealed.subarray(end));
      const place = decipher.update(sealed.subarray(NONCE_BYTES, end));
      try {
        decipher.final();
      } catch {
        throw wireError(
          'invalid_request',
          'cursor must be the next_cursor of a page of this list.',
        );
      }
      return Number(place.readBigUInt64BE());
    },
  };
}
