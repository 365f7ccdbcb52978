// Pages of a list, and cursors sealed so that clients cannot forge them.
import { open, seal } from '../../base/seal.ts';
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

/** As `pageOf`, for a list whose cursor is the id of the last item. */
export function pageById<Found extends { id: string }, Item>(
  { limit, cursor = null }: { limit?: string; cursor?: string | null },
  find: (count: number, cursor: string | null) => Promise<Found[]>,
  view: (found: Found) => Item,
): Promise<Page<Item>> {
  return pageOf(limit, (count) => find(count, cursor), { cursorOf: ({ id }) => id, view });
}

interface Cursors {
  cursorOf(seq: number): string;
  /** Null without a cursor. Throws `invalid_request` for a cursor that this list did not issue. */
  seqOf(cursor: string | undefined): number | null;
}

const SEQ_BYTES = 8;

/**
 * Cursors of an account's list that is ordered by a sequence shared by all accounts. They are encrypted, because the
 * sequence reveals how much other accounts write. Format: the sealed sequence number, 36 bytes in base64url.
 */
export async function openCursors(
  store: Pick<AccountStore, 'cursorKey'>,
  list: 'events' | 'ledger',
  wallet: string,
): Promise<Cursors> {
  const key = await store.cursorKey();
  const scope = `${list} ${wallet}`;
  return {
    cursorOf(seq) {
      const place = Buffer.alloc(SEQ_BYTES);
      place.writeBigUInt64BE(BigInt(seq));
      return seal(key, scope, place).toString('base64url');
    },
    seqOf(cursor) {
      if (cursor === undefined) return null;
      try {
        const place = open(key, scope, Buffer.from(cursor, 'base64url'));
        return Number(place.readBigUInt64BE());
      } catch {
        const message = 'cursor must be the next_cursor of a page of this list.';
        throw wireError('invalid_request', message);
      }
    },
  };
}
