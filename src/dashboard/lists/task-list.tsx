// The list of tasks, for one robot or all.
import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { ask } from '../api.ts';
import { robotsQuery } from '../queries.ts';
import { AnchorBadge } from '../ui/badge.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { PagedList } from './paged-list.tsx';

export interface TaskFilter {
  status?: 'claimed' | 'verified';
  robot_id?: string;
}

/** Tasks, newest first, with the robot's name unless the list is of one robot. */
export function TaskList({ filter }: { filter: TaskFilter }) {
  const { data: robots } = useQuery(robotsQuery);
  const names = new Map(robots?.map(({ id, name }) => [id, name]));
  const withRobot = filter.robot_id === undefined;
  return (
    <PagedList
      what="tasks"
      queryKey={['tasks', filter]}
      read={(query, signal) => ask('GET /api/v1/tasks', { query: { ...filter, ...query }, signal })}
      empty={<Empty title="No tasks">Robots claim tasks through the API.</Empty>}
    >
      {(tasks) => (
        <ScrollTable label="Tasks">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Task</Table.Th>
              <Table.Th>Anchor</Table.Th>
              {withRobot && <Table.Th className="wide-only">Robot</Table.Th>}
              <Table.Th className="wide-only">Claimed</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {tasks.map((task) => {
              const robot = names.get(task.robot_id) ?? 'robot';
              return (
                <Table.Tr key={task.id}>
                  <Table.Th scope="row" className="row-name">
                    <Link href={`/tasks/${task.id}`}>{task.title}</Link>
                    <div className="narrow-only">
                      {withRobot && `${robot} · `}
                      <Ago at={task.created_at} />
                    </div>
                  </Table.Th>
                  <Table.Td>
                    <AnchorBadge anchor={task.anchor} />
                  </Table.Td>
                  {withRobot && (
                    <Table.Td className="wide-only">
                      <Link href={`/robots/${task.robot_id}`} className="clipped">
                        {robot}
                      </Link>
                    </Table.Td>
                  )}
                  <Table.Td className="wide-only">
                    <Ago at={task.created_at} />
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </ScrollTable>
      )}
    </PagedList>
  );
}
