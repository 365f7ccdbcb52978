import { Button, Table } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { ask } from '../api.ts';
import { robotsQuery } from '../queries.ts';
import { AnchorBadge } from '../ui/anchor-badge.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';

export interface TaskFilter {
  status?: 'claimed' | 'verified';
  robot_id?: string;
}

/** Tasks, newest first; the robot is named where the list is not of one. */
export function TaskList({ filter }: { filter: TaskFilter }) {
  const robots = useQuery(robotsQuery);
  const tasks = useInfiniteQuery({
    queryKey: ['tasks', filter],
    queryFn: ({ pageParam, signal }) =>
      ask('GET /api/v1/tasks', {
        query: { ...filter, limit: '25', ...(pageParam && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
  });
  if (tasks.data === undefined) {
    if (tasks.isError) return <Failure error={tasks.error} onRetry={tasks.refetch} />;
    return <Loading what="tasks" />;
  }
  const items = tasks.data.pages.flatMap((page) => page.items);
  if (items.length === 0) {
    return <Empty title="No task here">Robots claim their tasks through the interface.</Empty>;
  }
  const withRobot = filter.robot_id === undefined;
  return (
    <>
      <ScrollTable label="Tasks" minWidth={withRobot ? 620 : 380}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Task</Table.Th>
            <Table.Th>Anchor</Table.Th>
            {withRobot && <Table.Th>Robot</Table.Th>}
            <Table.Th>Claimed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((task) => (
            <Table.Tr key={task.id}>
              <Table.Th scope="row" fw={600} className="wrap">
                <Link href={`/tasks/${task.id}`}>{task.title}</Link>
              </Table.Th>
              <Table.Td>
                <AnchorBadge anchor={task.anchor} />
              </Table.Td>
              {withRobot && (
                <Table.Td>
                  <Link href={`/robots/${task.robot_id}`}>
                    {robots.data?.find(({ id }) => id === task.robot_id)?.name ?? 'robot'}
                  </Link>
                </Table.Td>
              )}
              <Table.Td>
                <Ago at={task.created_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
      {tasks.hasNextPage && (
        <Button
          variant="default"
          mt="sm"
          loading={tasks.isFetchingNextPage}
          onClick={() => tasks.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}
