// All ops events, with their filters.
import EventList from '../lists/event-list.tsx';
import { FilteredList } from '../lists/filters.tsx';
import { choices } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';

const filters = [
  {
    name: 'severity',
    label: 'Severity',
    options: choices('Any severity', { info: 'info', warn: 'warn', error: 'error' }),
  },
  { name: 'event_type', label: 'Type' },
];

export default function Events() {
  return (
    <Page
      title="Events"
      lead="What robots reported, newest received first. From and To select by when it occurred."
    >
      <FilteredList filters={filters} list={EventList} />
    </Page>
  );
}
