// A list in pages, newest first, that updates itself and loads older items as it is scrolled.
import { Button, Group, Text } from '@mantine/core';
import { type QueryKey, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import { hasOlderPages } from '../stream.ts';
import { useSearchParam } from '../ui/fields.tsx';
import { Failure, Loading, Waiting } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import { type Column, VirtualTable } from '../ui/virtual-table.tsx';
import './lists.css';

interface PageOf<Item> {
  items: Item[];
  next_cursor: string | null;
}

interface PagedListProps<Item> {
  /** What the list holds: names its table. */
  what: string;
  queryKey: QueryKey;
  read: (query: { limit: string; cursor?: string }, signal: AbortSignal) => Promise<PageOf<Item>>;
  /** Shown if there is no item. */
  empty: ReactNode;
  columns: readonly (Column<Item> | false)[];
  /** Whether it is a part of a page that has a mark of freshness. */
  isPart?: boolean | undefined;
}

export interface ListProps extends Pick<PagedListProps<never>, 'isPart'> {
  filter: Record<string, string>;
}

/**
 * A list, newest first. It updates until an older page is loaded. Then it is paused: reading every page again would cost
 * more with each page, and would move the items that are being read.
 */
export function PagedList<Item extends { id: string }>(props: PagedListProps<Item>) {
  const { what, queryKey, read, empty, columns, isPart = false } = props;
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
  });
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  const items = list.data?.pages.flatMap((page) => page.items) ?? [];
  const more = useCallback(() => {
    if (!isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  const searches = hasNextPage && items.length === 0;
  // A page of a filtered list may be empty although older ones are not.
  useEffect(() => {
    if (searches) more();
  }, [searches, more]);
  if (list.data === undefined) return <Waiting query={list} what={what} />;
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
            <Text c="dimmed" role="status">
              Paused while older {what} are shown
            </Text>
            <Button size="compact-xs" onClick={showNewest}>
              Show the newest
            </Button>
          </Group>
        ) : (
          <Group gap="sm">
            <Freshness query={list} isPart={isPart} />
            {items.length > 0 && (
              <Text c="dimmed">
                {items.length} {hasNextPage ? 'or more' : 'in total'}
              </Text>
            )}
          </Group>
        )}
      </div>
      {items.length === 0 && (searches ? <Loading what={`older ${what}`} /> : empty)}
      {items.length > 0 && (
        <VirtualTable
          key={`${visits} ${JSON.stringify(queryKey)}`}
          label={what}
          items={items}
          onEnd={hasNextPage ? more : undefined}
          columns={columns}
        />
      )}
      {isFetchNextPageError && <Failure error={list.error} onRetry={fetchNextPage} />}
    </>
  );
}
