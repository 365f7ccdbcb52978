// Reads again what the stream of changes names, while the page is visible. What the stream does not report is polled.
import type { Query, QueryClient } from '@tanstack/react-query';
import type { Change } from '../protocol/stream.ts';

/** Interval at which queries are polled, and at which everything is read again without a stream, in ms. */
export const POLL_MS = 10_000;

/** After this time without a message, the stream is broken, in ms. The service sends one every 15 s. */
const SILENCE_MS = 20_000;

/** Changes of this time are read together, in ms. */
const READ_MS = 1_000;

/** First parts of the keys of the queries that show records of a kind. */
const shownBy: Record<Change['kind'], readonly string[]> = {
  robot: ['robots', 'telemetry', 'stats'],
  task: ['tasks', 'stats', 'robots'],
  anchor: ['tasks', 'stats'],
  event: ['events', 'stats'],
  credit: ['account', 'ledger'],
  alert: ['alerts'],
};

/**
 * First parts of the keys of the queries that show nothing but what the stream reports. The others are polled: robots go
 * offline by time (`stats`), commands grant credits (`ledger`), messages of webhooks, sign-ins and uses of tokens are
 * not reported, and public pages have no stream.
 */
const followed = ['robots', 'telemetry', 'tasks', 'events', 'alerts', 'alert-rules', 'fleets'];

/** What is read again after the stream broke. */
const all = [...followed, ...Object.values(shownBy).flat(), 'service-status'];

function isFollowed({ queryKey, state }: Query): boolean {
  return followed.includes(String(queryKey[0])) && state.status === 'success';
}

/** The interval at which a query is polled: never what the stream reports, unless it could not be read. */
export function pollMs(query: Query): number | false {
  return hasOlderPages(query.state.data) || isFollowed(query) ? false : POLL_MS;
}

/** Follows the stream until the returned function is called. */
export function followStream(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
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
    for (const name of names ?? all) due.add(name);
    timer ??= setTimeout(read, READ_MS);
  }
  /** Nothing has changed, so what is shown is as of now. */
  function confirm(): void {
    const predicate = (query: Query) =>
      isFollowed(query) && query.state.fetchStatus === 'idle' && !query.state.isInvalidated;
    queries.setQueriesData({ predicate }, (data: unknown) => data);
  }
  function close(): void {
    clearTimeout(silence);
    source?.close();
    source = undefined;
  }
  /** If no message comes in this time, reads everything again and connects again. */
  function expectMessage(ms: number): void {
    clearTimeout(silence);
    silence = setTimeout(() => {
      note(null);
      // A browser whose connection was lost connects again by itself, when the service asks it to.
      if (source?.readyState === EventSource.CONNECTING) expectMessage(POLL_MS);
      else open();
    }, ms);
  }
  function open(): void {
    close();
    if (document.hidden) return;
    let isHeard = false;
    expectMessage(POLL_MS);
    source = new EventSource('/api/v1/stream');
    source.onmessage = ({ data }) => {
      isHeard = true;
      expectMessage(SILENCE_MS);
      const { changes } = JSON.parse(data);
      if (changes?.length === 0) confirm();
      else note(changes);
    };
    source.onerror = () => {
      if (!isHeard) return;
      isHeard = false;
      // The reads show what is wrong.
      note(null);
      expectMessage(POLL_MS);
    };
  }

  open();
  document.addEventListener('visibilitychange', open);
  return () => {
    document.removeEventListener('visibilitychange', open);
    clearTimeout(timer);
    close();
  };
}

/** A list with older pages is paused: reading all of them would move what is being read. */
export function hasOlderPages(data: unknown): boolean {
  return ((data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) > 1;
}
