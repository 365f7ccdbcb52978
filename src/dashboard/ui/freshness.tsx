import type { UseQueryResult } from '@tanstack/react-query';
import { POLL_MS } from '../queries.ts';
import { ago, useNow } from './time.tsx';

/** After so long without an answer, what is shown may be wrong. */
const STALE_MS = 3 * POLL_MS;

type Watched = Pick<UseQueryResult, 'dataUpdatedAt' | 'isError'>;

/** Whether what a polled query found is too old to be trusted. */
export function useStale({ dataUpdatedAt, isError }: Watched): boolean {
  const now = useNow();
  return isError || (dataUpdatedAt > 0 && now - dataUpdatedAt > STALE_MS);
}

/** How old what is shown is; it looks old when it is. */
export function Freshness({ query }: { query: Watched }) {
  const now = useNow();
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
