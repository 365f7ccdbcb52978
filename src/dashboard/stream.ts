// Reads again what the stream of changes names, while the page is visible. Polling stays as the net.
import type { QueryClient } from '@tanstack/react-query';
import type { Change } from '../protocol/stream.ts';

/** Interval at which live data is read again without the stream, in ms. */
export const POLL_MS = 10_000;

/** Changes of this time are read together, in ms. */
const READ_MS = 1_000;

/** First parts of the keys of the queries that show records of a kind. */
const shownBy: Record<Change['kind'], readonly string[]> = {
  robot: ['robots', 'telemetry', 'stats'],
  task: ['tasks', 'stats'],
  anchor: ['tasks', 'stats', 'transaction'],
  event: ['events', 'stats'],
  credit: ['account', 'ledger'],
  alert: ['alerts'],
};

let isOpen = false;

/** The poll interval of a query: longer while the stream is open. */
export function pollMs(without = POLL_MS): number {
  return isOpen ? 2 * POLL_MS : without;
}

/** Follows the stream until the returned function is called. */
export function followStream(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let due = new Set<string>();

  function read(): void {
    const names = due;
    due = new Set();
    timer = undefined;
    void queries.invalidateQueries({
      predicate: ({ queryKey, state }) =>
        names.has(String(queryKey[0])) && !hasOlderPages(state.data),
    });
  }
  function note(changes: readonly Change[] | null): void {
    const names = changes?.flatMap(({ kind }) => shownBy[kind] ?? []);
    for (const name of names ?? ['fleets', ...Object.values(shownBy).flat()]) due.add(name);
    timer ??= setTimeout(read, READ_MS);
  }
  function close(): void {
    source?.close();
    source = undefined;
    isOpen = false;
  }
  function open(): void {
    close();
    if (document.hidden) return;
    source = new EventSource('/api/v1/stream');
    source.onmessage = ({ data }) => {
      isOpen = true;
      note(JSON.parse(data).changes);
    };
    source.onerror = () => {
      // The reads show what is wrong, and polling begins. A browser repeats only what was answered with 200.
      if (isOpen) note(null);
      isOpen = false;
      if (source?.readyState === EventSource.CLOSED) again = setTimeout(open, POLL_MS);
    };
  }

  open();
  document.addEventListener('visibilitychange', open);
  return () => {
    document.removeEventListener('visibilitychange', open);
    clearTimeout(timer);
    clearTimeout(again);
    close();
  };
}

/** A list with older pages is paused: reading all of them would move what is being read. */
export function hasOlderPages(data: unknown): boolean {
  return ((data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) > 1;
}
