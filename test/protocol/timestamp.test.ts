import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTimestamp, lacksZone, parseTimestamp } from '../../src/protocol/timestamp.ts';

const DAY_MS = 86_400_000;

function read(text: string): string | null {
  const ms = parseTimestamp(text);
  return ms === null ? null : formatTimestamp(ms);
}

describe('lacksZone', () => {
  it.each([
    ['2026-11-21T10:30:00', true],
    ['20261121t1030', true],
    ['2026-W47-6T10', true],
    ['2026-11-21T10:30:00Z', false],
    ['2026-11-21T10:30:00+01', false],
    ['2026-11-21', false],
    ['yesterday', false],
  ])('of %s is %s', (text, expected) => {
    expect(lacksZone(text)).toBe(expected);
  });
});

describe('a timestamp from a caller', () => {
  it.each([
    // calendar dates
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['20261121', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    // days of the year
    ['2026-325', '2026-11-21T00:00:00.000Z'],
    ['2026325T103000Z', '2026-11-21T10:30:00.000Z'],
    ['2024-366', '2024-12-31T00:00:00.000Z'],
    // weeks
    ['2026-W47-6', '2026-11-21T00:00:00.000Z'],
    ['2026W476T1030Z', '2026-11-21T10:30:00.000Z'],
    ['2026-W01-1', '2025-12-29T00:00:00.000Z'],
    ['2020-W53-7', '2021-01-03T00:00:00.000Z'],
    // times
    ['2026-11-21T12:30', '2026-11-21T12:30:00.000Z'],
    ['20261121T103000Z', '2026-11-21T10:30:00.000Z'],
    ['2026-11-21T19Z', '2026-11-21T19:00:00.000Z'],
    ['20261121T19', '2026-11-21T19:00:00.000Z'],
    ['2026-11-21t12:30:00z', '2026-11-21T12:30:00.000Z'],
    ['2026-12-31T24:00', '2027-01-01T00:00:00.000Z'],
    ['20261231T240000.000Z', '2027-01-01T00:00:00.000Z'],
    // fractions
    ['2026-11-21T12:30:01.5Z', '2026-11-21T12:30:01.500Z'],
    ['2026-11-21T12:30:01,123456789Z', '2026-11-21T12:30:01.123Z'],
    ['2026-11-21T12:30:59.99999999999999999999Z', '2026-11-21T12:30:59.999Z'],
    ['2026-11-21T12:30.5Z', '2026-11-21T12:30:30.000Z'],
    ['20261121T1230,25Z', '2026-11-21T12:30:15.000Z'],
    ['2026-11-21T12.5Z', '2026-11-21T12:30:00.000Z'],
    // offsets
    ['2026-11-21T12:30:01+02:00', '2026-11-21T10:30:01.000Z'],
    ['2026-11-21T00:00:00-0530', '2026-11-21T05:30:00.000Z'],
    ['20261121T103000+0100', '2026-11-21T09:30:00.000Z'],
    ['20261121T103000+01:00', '2026-11-21T09:30:00.000Z'],
    ['2026-11-21T12:30+02', '2026-11-21T10:30:00.000Z'],
    ['2026-11-21T19-05', '2026-11-22T00:00:00.000Z'],
    ['2026-11-21T12:30-00:00', '2026-11-21T12:30:00.000Z'],
    // leap seconds
    ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.999Z'],
    ['20161231T235960,5Z', '2016-12-31T23:59:59.999Z'],
    ['2017-01-01T05:29:60+05:30', '2016-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    // days that do not exist
    '2026-02-29T00:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-01-32',
    '2026-01-00',
    '20260229',
    '2026-366',
    '2026-000',
    '2021-W53-1',
    '2026-W00-1',
    '2026-W54-1',
    '2026-W47-0',
    '2026-W47-8',
    // times that do not exist
    '2026-11-21T24:00:01Z',
    '2026-11-21T24:00:00.001Z',
    '2026-11-21T24.1Z',
    '2026-11-21T24:01Z',
    '2026-11-21T25Z',
    '2026-11-21T12:60:00Z',
    '2026-11-21T12:30:61Z',
    '2026-11-21T12:30:60Z',
    '2026-11-21T23:59:60Z',
    '2016-12-31T23:59:60+01:00',
    '2016-12-31T24:00:60Z',
    '2026-11-30T24:00:60+00:01',
    '2026-11-21T12:30:00+24:00',
    '2026-11-21T12:30:00+01:60',
    // years of other than four digits, in UTC too
    '9999-12-31T24:00Z',
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00+00:01',
    '+02026-11-21',
    // basic and extended mixed
    '2026-11-21T103000Z',
    '20261121T10:30:00Z',
    '2026-1121',
    '202611-21',
    '2026-W476',
    '2026W47-6',
    '2026-11-21T10:3000Z',
    // no whole day
    '2026',
    '2026-11',
    '2026-W47',
    '202611',
    // no timestamp of ISO 8601
    'T10:30Z',
    '2026-11-21Z',
    '2026-11-21T',
    '2026-11-21T12:30:Z',
    '2026-11-21T12:30:00.Z',
    '2026-11-21T.5Z',
    '2026-11-21T12:30+1',
    '2026-11-21 12:30:00Z',
    '2026-w47-6',
    '15.01.2026',
    '1768480000',
    ' 2026-01-15',
    '2026-01-15\n',
    '',
  ])('%j is not one', (text) => {
    expect(parseTimestamp(text)).toBeNull();
  });

  it('is read from every text that the service writes', () => {
    fc.assert(
      fc.property(instants(), (ms) => {
        expect(parseTimestamp(formatTimestamp(ms))).toBe(ms);
      }),
    );
  });

  it('is written and read independently of earlier timestamps', () => {
    const near = fc.integer({ min: -90_000, max: 90_000 });
    fc.assert(
      fc.property(instants(), fc.array(fc.tuple(near, fc.boolean())), (ms, steps) => {
        for (const [step, isWritten] of steps) {
          const text = new Date(ms + step).toISOString();
          if (isWritten) expect(formatTimestamp(ms + step)).toBe(text);
          else expect(parseTimestamp(text)).toBe(ms + step);
        }
      }),
    );
  });

  it.each([
    '2026-11-21T12:30:60.000Z',
    '2026-11-21T12:30:99.000Z',
    '2026-11-21T12:30:0a.000Z',
    '2026-11-21T12:30: 1.000Z',
    '2026-11-21T12:30:01:000Z',
    '2026-11-21T12:30:01.0 0Z',
    '2026-11-21T12:30:01.000+',
    '2026-11-21T12:30:-1.000Z',
  ])('%j is not one even after another of its minute', (text) => {
    expect(read('2026-11-21T12:30:01.000Z')).toBe('2026-11-21T12:30:01.000Z');

    expect(parseTimestamp(text)).toBeNull();
  });

  it('is read in every form of date, time and offset', () => {
    fc.assert(
      fc.property(
        instants(),
        fc.constantFrom(...dates),
        fc.constantFrom(...times),
        fc.integer({ min: -1439, max: 1439 }),
        fc.boolean(),
        fc.constantFrom('.', ','),
        (ms, date, time, offset, isExtended, mark) => {
          const local = new Date(ms + offset * 60_000);
          const iso = `${date(local)}T${time(local).replace('.', mark)}`;
          const text = isExtended ? iso : iso.replaceAll(/[-:]/g, '');

          expect(parseTimestamp(`${text}${offsetText(offset, isExtended)}`)).toBe(ms);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('has a week 53 and a day 366 only in the years that have them', () => {
    for (let year = 1; year <= 9998; year += 1) {
      const name = String(year).padStart(4, '0');
      const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
      const newYear = new Date(`${name}-01-01T00:00:00Z`).getUTCDay();
      const isLong = newYear === 4 || (isLeap && newYear === 3);

      expect([name, parseTimestamp(`${name}-366`) !== null]).toEqual([name, isLeap]);
      expect([name, parseTimestamp(`${name}-W53-1`) !== null]).toEqual([name, isLong]);
    }
  });
});

/** With days to spare at both ends, for offsets and years of weeks. */
function instants() {
  const [min, max] = [Date.parse('0001-01-10'), Date.parse('9999-12-20')];
  return fc.integer({ min, max });
}

/** The extended forms of a day. */
const dates = [
  (at: Date) => at.toISOString().slice(0, 10),
  (at: Date) => `${yearText(at)}-${pad(dayOfYear(at), 3)}`,
  (at: Date) => {
    const weekday = at.getUTCDay() || 7;
    const thursday = new Date(at.getTime() + (4 - weekday) * DAY_MS);
    return `${yearText(thursday)}-W${pad(Math.ceil(dayOfYear(thursday) / 7), 2)}-${weekday}`;
  },
];

/** The extended forms of a time, each exact to the millisecond. */
const times = [
  (at: Date) => at.toISOString().slice(11, 23),
  (at: Date) => `${at.toISOString().slice(11, 23)}000000000999`,
  (at: Date) => `${at.toISOString().slice(11, 16)}${fractionText(at.getTime(), 60_000)}`,
  (at: Date) => `${at.toISOString().slice(11, 13)}${fractionText(at.getTime(), 3_600_000)}`,
];

/** The first digits of a fraction that is not less than the rest of the unit, and less than 1 ms more. */
function fractionText(ms: number, unit: number): string {
  const rest = BigInt(((ms % unit) + unit) % unit);
  const digits = (rest * 10n ** 12n + BigInt(unit) - 1n) / BigInt(unit);
  return `.${String(digits).padStart(12, '0')}`;
}

function offsetText(minutes: number, isExtended: boolean): string {
  if (minutes === 0) return 'Z';
  const size = Math.abs(minutes);
  const sign = minutes < 0 ? '-' : '+';
  const hours = `${sign}${pad(Math.floor(size / 60), 2)}`;
  if (size % 60 === 0) return hours;
  return `${hours}${isExtended ? ':' : ''}${pad(size % 60, 2)}`;
}

function yearText(at: Date): string {
  return at.toISOString().slice(0, 4);
}

function dayOfYear(at: Date): number {
  return Math.floor((at.getTime() - new Date(`${yearText(at)}-01-01`).getTime()) / DAY_MS) + 1;
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0');
}
