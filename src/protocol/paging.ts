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
