// All tasks. A file of its own because each view is loaded on demand.
import { ListPage } from '../lists/list-page.tsx';
import { type TaskFilter, TaskList } from '../lists/task-list.tsx';

const status = {
  name: 'status',
  label: 'Status',
  options: [
    { value: '', label: 'Any status' },
    { value: 'claimed', label: 'Claimed' },
    { value: 'verified', label: 'Verified' },
  ],
};

export default function Tasks() {
  return (
    <ListPage
      title="Tasks"
      lead="Tasks that robots claimed, and the state of their proofs."
      filter={status}
    >
      {(chosen, robotId) => <TaskList filter={filterOf(chosen, robotId)} />}
    </ListPage>
  );
}

function filterOf(status: string, robotId: string): TaskFilter {
  return {
    ...((status === 'claimed' || status === 'verified') && { status }),
    ...(robotId !== '' && { robot_id: robotId }),
  };
}
