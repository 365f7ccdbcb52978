import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { TaskList } from '../lists/task-list.tsx';
import { robotsQuery } from '../queries.ts';
import { Page } from '../ui/page.tsx';

export default function Tasks() {
  const robots = useQuery(robotsQuery);
  const [status, setStatus] = useState<'' | 'claimed' | 'verified'>('');
  const [robotId, setRobotId] = useState('');
  return (
    <Page title="Tasks" lead="What robots promised to do, and how far the proof of it has come.">
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
          aria-label="Status"
          value={status}
          onChange={({ currentTarget }) => setStatus(currentTarget.value as typeof status)}
          data={[
            { value: '', label: 'Any status' },
            { value: 'claimed', label: 'Claimed' },
            { value: 'verified', label: 'Verified' },
          ]}
        />
      </div>
      <section className="card" aria-label="Tasks">
        <TaskList
          filter={{
            ...(status !== '' && { status }),
            ...(robotId !== '' && { robot_id: robotId }),
          }}
        />
      </section>
    </Page>
  );
}
