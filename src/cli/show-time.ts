/** A timestamp of the service for a person: UTC to the second. */
export function showTime(timestamp: string | null): string | null {
  return timestamp === null ? null : timestamp.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}
