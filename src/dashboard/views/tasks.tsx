// All tasks, with their filters.
import { FilteredList } from '../lists/filters.tsx';
import TaskList from '../lists/task-list.tsx';
import { stateNames } from '../ui/badge.tsx';
import { choices } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';

const filters = [
  { name: 'search', label: 'Title, id or hash' },
  {
    name: 'status',
    label: 'Status',
    options: choices('Any status', { claimed: 'claimed', verified: 'verified' }),
  },
  {
    name: 'state',
    label: 'Anchor',
    options: choices('Any anchor', { ...stateNames, refused: 'refused for lack of credit' }),
  },
];

const csv = { path: '/api/v1/tasks', name: 'tasks' };

export default function Tasks() {
  return (
    <Page title="Tasks" lead="Tasks that robots claimed, and the state of their proofs.">
      <FilteredList filters={filters} list={TaskList} csv={csv} />
    </Page>
  );
}
