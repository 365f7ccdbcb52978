// Integers of a JSON text that a double would round.
/**
 * Whether `literal` denotes an integer, and the RFC 8785 text of `value`, its nearest double, denotes
 * another integer. Fractions are never reported: they are IEEE doubles, as in
 * RFC 8785. Time is linear in the length of the literal, whatever its exponent.
 *
 * @param literal a JSON number
 * @param value `Number(literal)`, finite
 */
export function becomesAnotherInteger(literal: string, value: number): boolean {
  const written = decimal(literal);
  if (written.exponent < 0) return false;
  const kept = decimal(String(value));
  return written.digits !== kept.digits || written.exponent !== kept.exponent;
}

interface Decimal {
  /** Significant digits without leading or trailing zeros; empty for zero. */
  readonly digits: string;
  /** The magnitude is `digits` × 10^`exponent`. It is an integer if and only if the exponent is not negative. */
  readonly exponent: number;
}

/** The magnitude of a JSON number in its only normal form, so that equal numbers compare equal. */
function decimal(literal: string): Decimal {
  const [mantissa = '', power = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const all = whole + fraction;
  let start = 0;
  while (start < all.length && all[start] === '0') start++;
  if (start === all.length) return { digits: '', exponent: 0 };
  let end = all.length;
  while (all[end - 1] === '0') end--;
  return {
    digits: all.slice(start, end),
    exponent: Number(power) - fraction.length + (all.length - end),
  };
}
