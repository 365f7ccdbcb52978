// The time zone of all times: that of the browser, or UTC.
import { useSyncExternalStore } from 'react';

const KEPT = 'svc-time-zone';
const listeners = new Set<() => void>();

/** The zone for `Intl`: undefined is that of the browser. */
export function timeZone(): 'UTC' | undefined {
  return localStorage.getItem(KEPT) === 'UTC' ? 'UTC' : undefined;
}

/** The zone, and how to change it. The component renders again when it changes. */
export function useTimeZone(): [zone: 'UTC' | undefined, toggle: () => void] {
  const zone = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, timeZone);
  const toggle = () => {
    if (zone === undefined) localStorage.setItem(KEPT, 'UTC');
    else localStorage.removeItem(KEPT);
    for (const listener of listeners) listener();
  };
  return [zone, toggle];
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Formats a time in the zone. */
export function formatTime(at: string | number, options: Intl.DateTimeFormatOptions): string {
  const zone = timeZone();
  const key = JSON.stringify([zone, options]);
  const format =
    formats.get(key) ??
    new Intl.DateTimeFormat('en-GB', { ...options, ...(zone && { timeZone: zone }) });
  formats.set(key, format);
  return format.format(new Date(at));
}

/** The value of a `datetime-local` field, in the zone, for an instant in ISO format; `''` for none. */
export function toField(instant: string): string {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return '';
  const behind = timeZone() === 'UTC' ? 0 : new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - behind).toISOString().slice(0, 16);
}

/** The reverse of `toField`. */
export function fromField(value: string): string {
  const at = Date.parse(timeZone() === 'UTC' ? `${value}Z` : value);
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}
