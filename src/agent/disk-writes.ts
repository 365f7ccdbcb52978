import { readFileSync } from 'node:fs';

const SAMPLE_MS = 60_000;
const HOUR_MS = 60 * 60_000;

/**
 * Bytes that this process had written to the disk in the last hour, as the kernel counts them; null where it
 * does not. Looks once a minute, and does not keep the process alive.
 */
export function watchDiskWrites(): { lastHour(): number | null; stop(): void } {
  const looks: { at: number; bytes: number }[] = [];
  const look = () => {
    const bytes = writtenBytes();
    if (bytes === null) return;
    looks.push({ at: performance.now(), bytes });
    while ((looks[1]?.at ?? Number.POSITIVE_INFINITY) < performance.now() - HOUR_MS) looks.shift();
  };
  look();
  const timer = setInterval(look, SAMPLE_MS).unref();
  return {
    lastHour() {
      const [first, now] = [looks[0], writtenBytes()];
      return first === undefined || now === null ? null : now - first.bytes;
    },
    stop: () => clearInterval(timer),
  };
}

function writtenBytes(): number | null {
  try {
    const text = readFileSync('/proc/self/io', 'utf8');
    return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? Number.NaN) || 0;
  } catch {
    return null;
  }
}
