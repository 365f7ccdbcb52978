/** Whether this is the mean of the readings, except for the rounding of doubles that are added in any order. */
export function isMeanOf(readings: readonly number[], mean: number): boolean {
  const count = BigInt(readings.length);
  const units = readings.map(inSmallestUnits);
  const sum = units.reduce((total, one) => total + one, 0n);
  const off = magnitude(inSmallestUnits(mean) * count - sum);
  const largest = inSmallestUnits(Math.max(...readings.map(Math.abs)));
  return off << 53n <= count * (count * largest + (1n << (1074n - 1014n + 53n)));
}

/** Every double is a multiple of 2^-1074. */
function inSmallestUnits(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const exponent = (bits.getUint16(0) >> 4) & 0x7ff;
  const fraction = bits.getBigUint64(0) & 0xfffffffffffffn;
  const significand = exponent === 0 ? fraction : fraction | 0x10000000000000n;
  const size = significand << BigInt(Math.max(exponent, 1) - 1);
  return value < 0 ? -size : size;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}
