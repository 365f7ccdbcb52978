const SHORTEST = 8;

/** The shortest beginnings, of one length, that tell the ids apart: for lists that are whole. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  let length = SHORTEST;
  while (length < 36 && new Set(ids.map((id) => id.slice(0, length))).size < ids.length)
    length += 1;
  return (id) => id.slice(0, length).replace(/-$/, '');
}
