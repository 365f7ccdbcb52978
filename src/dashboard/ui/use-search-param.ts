import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/**
 * A choice that is kept in the address: it survives a reload, is shared with the link, and is there again on
 * the way back. `''` is none. It makes no step of its own in the history.
 */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (value: string) => {
      // Read at once, not as of the last drawing: two choices may come between two drawings.
      const next = new URLSearchParams(window.location.search);
      if (value === '') next.delete(name);
      else next.set(name, value);
      setSearch(next, { replace: true });
    },
    [name, setSearch],
  );
  return [search.get(name) ?? '', set];
}
