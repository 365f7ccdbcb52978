// All ops events. A file of its own because each view is loaded on demand.
import type { Severity } from '../../protocol/telemetry.ts';
import { EventList } from '../lists/event-list.tsx';
import { ListPage } from '../lists/list-page.tsx';

const severity = {
  name: 'severity',
  label: 'Severity',
  options: [
    { value: '', label: 'Any severity' },
    { value: 'info', label: 'Info' },
    { value: 'warn', label: 'Warning' },
    { value: 'error', label: 'Error' },
  ],
};

export default function Events() {
  return (
    <ListPage title="Events" lead="What robots reported, newest first." filter={severity}>
      {(chosen, robotId) => (
        <EventList
          filter={{
            // The list above has no other.
            ...(chosen !== '' && { severity: chosen as Severity }),
            ...(robotId !== '' && { robot_id: robotId }),
          }}
        />
      )}
    </ListPage>
  );
}
