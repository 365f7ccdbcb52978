const shape =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d{2})(?::?(\d{2}))?)?)?$/;

/**
 * Milliseconds since the epoch of an ISO-8601 calendar date with optional time and offset, or null
 * when the text is not one or names a day or time that does not exist. Without an offset it is UTC.
 * A leap second (`:60`) counts as the last millisecond before it. Fractions are cut to milliseconds.
 */
export function parseTimestamp(text: string): number | null {
  const match = shape.exec(text);
  if (!match) return null;
  const field = (group: number) => Number(match[group] ?? 0);
  const [year, month, day] = [field(1), field(2), field(3)];
  const [hour, minute, second] = [field(4), field(5), field(6)];
  const [offsetHour, offsetMinute] = [field(9), field(10)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const ms = second === 60 ? 999 : Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  date.setUTCHours(hour, minute, Math.min(second, 59), ms);
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute) * 60_000;
  return date.getTime() - offset;
}

/** The service's own form of a point in time: ISO-8601, UTC, milliseconds. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}
