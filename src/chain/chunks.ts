/** The items in groups of at most `size`; one empty group when there are none. */
export function chunksOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const count = Math.max(1, Math.ceil(items.length / size));
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}
