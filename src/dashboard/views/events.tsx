import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Severity } from '../../protocol/telemetry.ts';
import { EventList } from '../lists/event-list.tsx';
import { robotsQuery } from '../queries.ts';
import { Page } from '../ui/page.tsx';

export default function Events() {
  const robots = useQuery(robotsQuery);
  const [severity, setSeverity] = useState('');
  const [robotId, setRobotId] = useState('');
  return (
    <Page title="Events" lead="What robots reported, newest first.">
      <div className="filters">
        <NativeSelect
          aria-label="Robot"
          value={robotId}
          onChange={({ currentTarget }) => setRobotId(currentTarget.value)}
          data={[
            { value: '', label: 'Any robot' },
            ...(robots.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <NativeSelect
          aria-label="Severity"
          value={severity}
          onChange={({ currentTarget }) => setSeverity(currentTarget.value)}
          data={[{ value: '', label: 'Any severity' }, 'info', 'warn', 'error']}
        />
      </div>
      <section className="card" aria-label="Events">
        <EventList
          filter={{
            // The list above has no other.
            ...(severity !== '' && { severity: severity as Severity }),
            ...(robotId !== '' && { robot_id: robotId }),
          }}
        />
      </section>
    </Page>
  );
}
