// A list in pages, newest first, that updates itself.
import { Button, Group, Text } from '@mantine/core';
import { type QueryKey, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { hasOlderPages, pollMs } from '../stream.ts';
import { Failure, Loading } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import './lists.css';

interface PageOf<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface PagedListProps<Item> {
  what: string;
  queryKey: QueryKey;
  read: (query: { limit: string; cursor?: string }, signal: AbortSignal) => Promise<PageOf<Item>>;
  /** Shown if there is no item. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}

/**
 * A list, newest first, with older pages on demand. The list updates until an older page is shown. Then it is paused:
 * reading every page again would cost more with each page, and would move the items that are being read.
 */
export function PagedList<Item>({ what, queryKey, read, empty, children }: PagedListProps<Item>) {
  const queries = useQueryClient();
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      read({ limit: '25', ...(pageParam && { cursor: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: (page: PageOf<Item>) => page.next_cursor,
    refetchInterval: ({ state }) => (hasOlderPages(state.data) ? false : pollMs()),
  });
  if (list.data === undefined) {
    if (list.isError) return <Failure error={list.error} onRetry={list.refetch} />;
    return <Loading what={what} />;
  }
  const items = list.data.pages.flatMap((page) => page.items);
  return (
    <>
      <div className="list-status">
        {hasOlderPages(list.data) ? (
          <Group gap="sm">
            <Text size="sm" c="dimmed" role="status">
              Paused while older {what} are shown
            </Text>
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => queries.resetQueries({ queryKey, exact: true })}
            >
              Show the newest
            </Button>
          </Group>
        ) : (
          <Freshness query={list} />
        )}
      </div>
      {items.length === 0 ? empty : children(items)}
      {list.isFetchNextPageError && <Failure error={list.error} onRetry={list.fetchNextPage} />}
      {list.hasNextPage && (
        <Button
          variant="default"
          mt="md"
          loading={list.isFetchingNextPage}
          onClick={() => list.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}
