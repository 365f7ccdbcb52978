/**
 * Exact sums of doubles, so that neither the order of arrival nor how often sums were merged shows in them.
 * Method: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
 * Predicates", 1997 (growing an expansion); the rounding is that of Python's `math.fsum`.
 */

/** Doubles that do not overlap, by rising magnitude and none of them zero, whose sum is the exact one. */
export type ExactSum = readonly number[];

export function withNumber(sum: ExactSum, value: number): ExactSum {
  const parts: number[] = [];
  let carry = value;
  for (const part of sum) {
    const both = carry + part;
    const lost = lostIn(both, carry, part);
    if (lost !== 0) parts.push(lost);
    carry = both;
  }
  if (carry !== 0) parts.push(carry);
  return parts;
}

/** What rounding took from a + b, of which `both` is the rounded sum. */
export function lostIn(both: number, a: number, b: number): number {
  return Math.abs(a) < Math.abs(b) ? a - (both - b) : b - (both - a);
}

/** Two sums of the same numbers may have other parts. */
export function isSameSum(a: ExactSum, b: ExactSum): boolean {
  return b.reduce((difference, part) => withNumber(difference, -part), a).length === 0;
}

/** The double nearest to the sum, ties to even. */
export function rounded(sum: ExactSum): number {
  let at = sum.length - 1;
  let total = sum[at] ?? 0;
  let lost = 0;
  while (lost === 0 && at > 0) {
    at -= 1;
    const before = total;
    const part = sum[at] ?? 0;
    total = before + part;
    lost = part - (total - before);
  }
  // Half a unit was rounded to even; what is below it decides.
  const below = sum[at - 1] ?? 0;
  if (lost !== 0 && Math.sign(below) === Math.sign(lost)) {
    const other = total + lost * 2;
    if (other - total === lost * 2) return other;
  }
  return total;
}
