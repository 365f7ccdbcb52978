// The table of tasks, for one robot or all.
import { Link } from 'wouter';
import { ask } from '../api.ts';
import { AnchorBadge } from '../ui/badge.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { WaitingReason } from '../ui/service-status.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago, duration } from '../ui/time.tsx';
import { type ListProps, PagedList } from './paged-list.tsx';
import { useRobotLinks } from './robot-links.tsx';

/** Tasks, newest first, with the robot's name unless the list is of one robot. `filter` is part of the query. */
export default function TaskList({ filter, isPart }: ListProps) {
  const linkTo = useRobotLinks();
  const withRobot = filter.robot_id === undefined;
  return (
    <PagedList
      isPart={isPart}
      what="tasks"
      queryKey={['tasks', filter]}
      read={(query, signal) => ask('GET /api/v1/tasks', { query: { ...filter, ...query }, signal })}
      empty={
        <Empty title="No tasks">
          Robots claim tasks through the API.
          <FirstCall call="POST /api/v1/tasks" body={{ title: 'Pick parcels' }} by="ROBOT_KEY" />
        </Empty>
      }
      columns={[
        {
          title: 'Task',
          isName: true,
          cell: (task) => (
            <>
              <Link href={`/tasks/${task.id}`}>{task.title}</Link>
              {task.anchor?.state === 'queued' && <WaitingReason />}
              <div className="narrow-only">
                {withRobot && <>{linkTo(task.robot_id)} · </>}
                <Ago at={task.created_at} />
              </div>
            </>
          ),
        },
        {
          title: 'Anchor',
          width: '7.5rem',
          cell: (task) => <AnchorBadge anchor={task.anchor} refusedAt={task.credit_refused_at} />,
        },
        withRobot && { title: 'Robot', isWide: true, cell: (task) => linkTo(task.robot_id) },
        {
          title: 'Duration',
          isWide: true,
          isNumber: true,
          width: '6.5rem',
          cell: ({ created_at, anchor }) =>
            anchor?.accepted_at ? (
              duration(Date.parse(anchor.accepted_at) - Date.parse(created_at))
            ) : (
              <span className="dash">–</span>
            ),
        },
        {
          title: 'Claimed',
          isWide: true,
          width: '8rem',
          cell: (task) => <Ago at={task.created_at} />,
        },
      ]}
    />
  );
}
