// Response values that are already serialized as JSON.

/**
 * A `Value` that is already serialized. Documents are stored as JSON; parsing hundreds of them only to serialize them
 * again would block the event loop.
 */
export class JsonText<Value> {
  declare readonly value: Value;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Serializes `members` plus one more member whose value is already JSON. `members` MUST NOT be empty. */
export function withDocument<Members extends object, Name extends string>(
  members: Members,
  name: Name,
  document: string,
): JsonText<Members & Record<Name, Record<string, unknown>>> {
  const open = JSON.stringify(members).slice(0, -1);
  return new JsonText(`${open},${JSON.stringify(name)}:${document}}`);
}

export function writtenPage<Item>({
  items,
  next_cursor,
}: Page<JsonText<Item>>): JsonText<Page<Item>> {
  const texts = items.map(({ text }) => text).join();
  return new JsonText(`{"items":[${texts}],"next_cursor":${JSON.stringify(next_cursor)}}`);
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}
