// A list in pages, newest first, that updates itself and loads older items as it is scrolled.
import { Button, Group, Text } from '@mantine/core';
import { type QueryKey, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, type ReactNode, useEffect, useState } from 'react';
import { hasOlderPages, pollMs } from '../stream.ts';
import { useSearchParam } from '../ui/fields.tsx';
import { Failure, Loading } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import './lists.css';

interface PageOf<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface PagedListProps<Item> {
  /** What the list holds: the label of its table, in lower case. */
  what: string;
  queryKey: QueryKey;
  read: (query: { limit: string; cursor?: string }, signal: AbortSignal) => Promise<PageOf<Item>>;
  /** Shown if there is no item. */
  empty: ReactNode;
  /** Renders a VirtualTable. `onEnd` loads the next page; it is undefined if there is none. */
  children: (items: Item[], onEnd: (() => void) | undefined) => ReactNode;
}

/**
 * A list, newest first. It updates until an older page is loaded. Then it is paused: reading every page again would cost
 * more with each page, and would move the items that are being read.
 */
export function PagedList<Item>({ what, queryKey, read, empty, children }: PagedListProps<Item>) {
  const queries = useQueryClient();
  const [visits, setVisits] = useState(0);
  const [, setRow] = useSearchParam(`${what}-row`);
  const list = useInfiniteQuery({
    queryKey,
    // The first page is read often, the others once.
    queryFn: ({ pageParam, signal }) =>
      read(pageParam ? { limit: '200', cursor: pageParam } : { limit: '50' }, signal),
    initialPageParam: '',
    getNextPageParam: (page: PageOf<Item>) => page.next_cursor,
    refetchInterval: ({ state }) => (hasOlderPages(state.data) ? false : pollMs()),
  });
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const more = () => {
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  };
  const searches = hasNextPage && items.length === 0;
  // A page of a filtered list may be empty although older ones are not.
  useEffect(() => {
    if (searches) more();
  });
  if (list.data === undefined) {
    if (list.isError) return <Failure error={list.error} onRetry={list.refetch} />;
    return <Loading what={what} />;
  }
  const showNewest = () => {
    setRow('');
    setVisits(visits + 1);
    void queries.resetQueries({ queryKey, exact: true });
  };
  return (
    <>
      <div className="list-status">
        {hasOlderPages(list.data) ? (
          <Group gap="sm">
            <Text size="sm" c="dimmed" role="status">
              Paused while older {what} are shown
            </Text>
            <Button size="compact-xs" variant="default" onClick={showNewest}>
              Show the newest
            </Button>
          </Group>
        ) : (
          <Freshness query={list} />
        )}
      </div>
      {items.length === 0 && (searches ? <Loading what={`older ${what}`} /> : empty)}
      {items.length > 0 && (
        <Fragment key={`${visits} ${JSON.stringify(queryKey)}`}>
          {children(items, hasNextPage ? more : undefined)}
        </Fragment>
      )}
      {isFetchNextPageError && <Failure error={list.error} onRetry={fetchNextPage} />}
    </>
  );
}
