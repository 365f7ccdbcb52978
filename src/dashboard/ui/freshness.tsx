import type { UseQueryResult } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { POLL_MS } from '../queries.ts';
import { ago, everySecond, useSeconds } from './time.tsx';

/** After so long without an answer, what is shown may be wrong. */
const STALE_MS = 3 * POLL_MS;

type Watched = Pick<UseQueryResult, 'dataUpdatedAt' | 'isError'>;

/** Whether what a polled query found is too old to be trusted. Draws anew only when that changes. */
export function useStale({ dataUpdatedAt, isError }: Watched): boolean {
  return useSyncExternalStore(
    everySecond.subscribe,
    () => isError || (dataUpdatedAt > 0 && everySecond.now() - dataUpdatedAt > STALE_MS),
  );
}

/** How old what is shown is; it looks old when it is. */
export function Freshness({ query }: { query: Watched }) {
  const now = useSeconds();
  const stale = useStale(query);
  if (query.dataUpdatedAt === 0) return null;
  const age = ago(query.dataUpdatedAt, Math.max(now, query.dataUpdatedAt));
  return (
    <span className="freshness" data-stale={stale || undefined}>
      <span className="dot" aria-hidden />
      {stale ? `Not current: last read ${age}` : `Live · read ${age}`}
    </span>
  );
}
