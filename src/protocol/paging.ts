// Schemas of pages and cursors.
import { type TSchema, Type } from 'typebox';
import { CallerTimestamp, Closed, Nullable, Uuid } from './fields.ts';

/** Path parameters of a resource. */
export const Id = Closed({ id: Uuid });

/** One page of a list; `next_cursor` is null on the last page. */
export function page<Item extends TSchema>(item: Item) {
  return Closed({ items: Type.Array(item), next_cursor: Nullable(Type.String()) });
}

/** Query parameters of a list. */
export const PageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]|[1-9]\\d|1\\d\\d|200)$',
      description: 'a number from 1 to 200 (default: 50)',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ ...Uuid, description: 'the next_cursor of the previous page' }),
  ),
};

/** Query parameters of a period: `from` is included, `to` is not. */
export const PeriodQuery = {
  from: Type.Optional(CallerTimestamp),
  to: Type.Optional(CallerTimestamp),
};

/** Cursor of a list ordered by time: the last item's time in milliseconds, and its id. */
export const TimeCursor = Type.String({
  pattern: '^\\d{1,15}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  description: 'the next_cursor of the previous page',
});

/** Encrypted cursor of a list whose order would reveal other accounts: 36 bytes in base64url. */
export const SealedCursor = Type.String({
  pattern: '^[A-Za-z0-9_-]{48}$',
  description: 'the next_cursor of the previous page',
  examples: ['Zt0xq3mJr5Wk1uVhYb8cNfPd2sLgA7oE9iTjQyXn4RzKwMHv'],
});
