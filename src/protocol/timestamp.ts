// Parses and formats ISO 8601 timestamps.
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** 0000-01-01 and the last millisecond of 9999: a year has four digits. */
export const firstInstant = -62_167_219_200_000;
export const lastInstant = 253_402_300_799_999;

const OWN_FORM = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Characters of the service's own form, and of its minute: `2026-11-21T09:30:`. */
const OWN_LENGTH = 24;
const OF_MINUTE = 17;

/** Cache of the last minute and its text: timestamps come in runs, and dates are expensive. */
let minute = { begin: Number.NaN, text: 'none' };

type Parts = Readonly<Record<string, string | undefined>>;

/** ISO 8601-1:2019, 5.2 to 5.4: a text is entirely in the extended form (with separators) or in the basic one. */
const forms = [formOf('-', ':'), formOf('', '')];

/**
 * Parses an ISO 8601 date, or date and time, to milliseconds since the epoch. Returns null if the text is neither, or
 * if its day or time does not exist. Dates are by calendar (2026-11-21), day of the year (2026-325) or week
 * (2026-W47-6), with the day. Times have any precision, and their last number may have a fraction. Without a time, the
 * result is the beginning of the day; without an offset, it is UTC; `24:00` is the end of the day. Fractions are cut to
 * milliseconds. A leap second (`:60`) is accepted where UTC may have one, at the end of a month, and becomes the last
 * millisecond of the month.
 */
export function parseTimestamp(text: string): number | null {
  return parseOwnForm(text) ?? parseIso8601(text);
}

/** Whether the text has a time of the day without an offset: readers in other time zones would understand another time. */
export function lacksZone(text: string): boolean {
  const parts = forms.map((form) => form.exec(text)?.groups).find(Boolean);
  return parts?.hour !== undefined && parts.zone === undefined;
}

/** How to correct a time that `lacksZone`. */
export const ZONE_HINT = 'append Z for UTC, or an offset such as +01:00';

function parseIso8601(text: string): number | null {
  const parts = forms.map((form) => form.exec(text)?.groups).find(Boolean);
  if (parts === undefined) return null;
  const day = dayOf(parts);
  const time = timeOf(parts);
  const offset = offsetOf(parts);
  if (day === null || time === null || offset === null) return null;
  const instant = day + time - offset;
  if (parts.second === '60' && !isEndOfMonth(instant)) return null;
  return instant < firstInstant || instant > lastInstant ? null : instant;
}

/** Parses the form of `formatTimestamp`, the most common one, at a tenth of the cost; null for any other text. */
function parseOwnForm(text: string): number | null {
  if (text.length !== OWN_LENGTH) return null;
  if (text.startsWith(minute.text) && text[19] === '.' && text[23] === 'Z') {
    const ofMinute = digits(text, 17, 19) * SECOND_MS + digits(text, 20, 23);
    if (ofMinute < MINUTE_MS) return minute.begin + ofMinute;
  }
  if (!OWN_FORM.test(text)) return null;
  const date = new Date(text);
  // The 30th of February would be a day of March.
  if (date.getUTCDate() !== Number(text.slice(8, 10))) return null;
  keepMinute(date.getTime(), text);
  return date.getTime();
}

/** The number that the digits denote; NaN if they are not digits. */
function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** Formats a time in the service's own form: ISO 8601, UTC, milliseconds. */
export function formatTimestamp(ms: number): string {
  const ofMinute = ms - minute.begin;
  if (ofMinute >= 0 && ofMinute < MINUTE_MS && Number.isInteger(ofMinute)) {
    const second = Math.floor(ofMinute / SECOND_MS);
    const rest = String(ofMinute - second * SECOND_MS).padStart(3, '0');
    return `${minute.text}${second < 10 ? '0' : ''}${second}.${rest}Z`;
  }
  const text = new Date(ms).toISOString();
  if (text.length === OWN_LENGTH) keepMinute(Math.trunc(ms), text);
  return text;
}

/** As `formatTimestamp`; null stays null. */
export function formatIfAny(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}

/** A validated time of a caller in the service's own form, null if there is none: an instant has one text. */
export function utcOf(text: string | undefined): string | null {
  const ms = text === undefined ? null : parseTimestamp(text);
  return formatIfAny(ms);
}

function keepMinute(ms: number, text: string): void {
  const ofMinute = ((ms % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
  minute = { begin: ms - ofMinute, text: text.slice(0, OF_MINUTE) };
}

/** Both forms accept an offset with and without its colon, because many libraries mix them. */
function formOf(dash: string, colon: string): RegExp {
  const date = `(?<year>\\d{4})${dash}(?:(?<month>\\d{2})${dash}(?<day>\\d{2})|(?<dayOfYear>\\d{3})|W(?<week>\\d{2})${dash}(?<weekday>\\d))`;
  const time = `(?<hour>\\d{2})(?:${colon}(?<minute>\\d{2})(?:${colon}(?<second>\\d{2}))?)?(?:[.,](?<fraction>\\d{1,40}))?`;
  const offset = '(?<zone>[Zz]|(?<sign>[+-])(?<offsetHour>\\d{2})(?::?(?<offsetMinute>\\d{2}))?)';
  return new RegExp(`^${date}(?:[Tt]${time}${offset}?)?$`);
}

/** The beginning of the day, as if in UTC. */
function dayOf({ year: yearText, month, day, dayOfYear, week, weekday }: Parts): number | null {
  const year = Number(yearText);
  if (dayOfYear !== undefined) {
    const at = utcDay(year, 1, 1) + (Number(dayOfYear) - 1) * DAY_MS;
    return isIn(year, at) ? at : null;
  }
  if (week !== undefined) return dayOfWeek(year, Number(week), Number(weekday));
  const at = utcDay(year, Number(month), Number(day));
  const date = new Date(at);
  const exists = date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
  return exists ? at : null;
}

/** Weeks begin on Monday and belong to the year of their Thursday, so 4 January is in the first week. */
function dayOfWeek(year: number, week: number, weekday: number): number | null {
  if (weekday < 1 || weekday > 7) return null;
  const fourth = utcDay(year, 1, 4);
  const firstMonday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS;
  const monday = firstMonday + (week - 1) * 7 * DAY_MS;
  return isIn(year, monday + 3 * DAY_MS) ? monday + (weekday - 1) * DAY_MS : null;
}

/** Milliseconds since the beginning of the day. */
function timeOf({ hour = '0', minute, second, fraction = '0' }: Parts): number | null {
  const [hours, minutes, seconds] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  if (hours > 24 || minutes > 59 || seconds > 60) return null;
  // `24:00` is the end of the day, so no leap second can follow.
  if (hours === 24 && seconds === 60) return null;
  const unit = second !== undefined ? SECOND_MS : minute !== undefined ? MINUTE_MS : HOUR_MS;
  const whole = hours * HOUR_MS + minutes * MINUTE_MS;
  if (seconds === 60) return whole + MINUTE_MS - 1;
  // As bigint: a double cannot represent every fraction.
  const rest = Number((BigInt(fraction) * BigInt(unit)) / 10n ** BigInt(fraction.length));
  const time = whole + seconds * SECOND_MS + rest;
  return time > DAY_MS ? null : time;
}

function offsetOf({ sign, offsetHour = '0', offsetMinute = '0' }: Parts): number | null {
  const [hours, minutes] = [Number(offsetHour), Number(offsetMinute)];
  if (hours > 23 || minutes > 59) return null;
  return (sign === '-' ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS);
}

/** As `Date.UTC`, which reads years below 100 as 1900 to 1999. */
function utcDay(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

function isIn(year: number, instant: number): boolean {
  return new Date(instant).getUTCFullYear() === year;
}

function isEndOfMonth(instant: number): boolean {
  const next = instant + 1;
  return next % DAY_MS === 0 && new Date(next).getUTCDate() === 1;
}
