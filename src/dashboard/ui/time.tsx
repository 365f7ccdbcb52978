import { useEffect, useState } from 'react';

/** The time, told anew every so many ms. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const steps = [
  [1000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
  [30 * 86_400_000, 'month'],
  [365 * 86_400_000, 'year'],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** `3 min. ago` */
export function ago(at: number, now: number): string {
  const past = at - now;
  const [ms, unit] = steps.findLast(([size]) => Math.abs(past) >= size) ?? steps[0];
  return relative.format(Math.trunc(past / ms), unit);
}

export function dateAndTime(at: string | number): string {
  return exact.format(new Date(at));
}

/** How long ago, with the exact time for who points at it or reads by ear. */
export function Ago({ at }: { at: string }) {
  const now = useNow(10_000);
  return (
    <time dateTime={at} title={dateAndTime(at)}>
      {ago(Date.parse(at), Math.max(now, Date.parse(at)))}
    </time>
  );
}
