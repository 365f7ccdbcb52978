/** `Math.min` for what may be larger than a number. */
export function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
