// Schemas of fleets.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, Text, Timestamp, Uuid, VisibleText } from './fields.ts';
import { limits } from './limits.ts';

export const Tags = Type.Array(Text(limits.tagLength), { maxItems: limits.tagsPerFleet });

export const SortOrder = Type.Integer({ minimum: 0, maximum: limits.sortOrderMax });

/** A fleet (docs/http-api.md). Fleets are shown by `sort_order`. */
export const Fleet = Closed({
  id: Uuid,
  name: VisibleText(limits.nameLength),
  description: Nullable(Text(limits.descriptionLength)),
  location: Nullable(Text(limits.locationLength)),
  shift: Nullable(Text(limits.shiftLength)),
  tags: Tags,
  sort_order: SortOrder,
  robot_count: Type.Integer({ minimum: 0 }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

export type Fleet = Static<typeof Fleet>;
