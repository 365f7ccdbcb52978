// Schemas of pages and cursors.
import { type TSchema, Type } from 'typebox';
import { Closed, Nullable, Uuid } from './fields.ts';

/** Path of one resource by its id. */
export const Id = Closed({ id: Uuid });

/** One page of a list; `next_cursor` is null on the last. */
export function page<Item extends TSchema>(item: Item) {
  return Closed({ items: Type.Array(item), next_cursor: Nullable(Type.String()) });
}

/** Members of a list's query. */
export const PageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]|[1-9]\\d|1\\d\\d|200)$',
      description: '1 to 200, 50 if absent',
    }),
  ),
  cursor: Type.Optional(Uuid),
};

/** Cursor of a list in the order of time: the last item's instant in milliseconds, and its id. */
export const TimeCursor = Type.String({
  pattern: '^\\d{1,15}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  description: 'next_cursor of the page before',
});

/** Cursor of a list whose order would tell of other accounts: 36 bytes in base64url. */
export const SealedCursor = Type.String({
  pattern: '^[A-Za-z0-9_-]{48}$',
  description: 'next_cursor of the page before',
  examples: ['Zt0xq3mJr5Wk1uVhYb8cNfPd2sLgA7oE9iTjQyXn4RzKwMHv'],
});
