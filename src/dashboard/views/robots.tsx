// Robots: table and registration.
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../protocol/fleets.ts';
import { ask } from '../api.ts';
import { fleetsQuery, robotsQuery } from '../queries.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Page } from '../ui/page.tsx';
import { showSecret } from '../ui/secret-dialog.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness, useStale } from '../ui/time.tsx';
import { RobotFields } from './robots/robot-fields.tsx';
import { RobotTable } from './robots/robot-table.tsx';

export default function Robots() {
  const robots = useQuery(robotsQuery);
  const fleets = useQuery(fleetsQuery);
  const isStale = useStale(robots);
  const [isCreating, setIsCreating] = useState(false);
  return (
    <Page
      title="Robots"
      lead={<Freshness query={robots} />}
      actions={<Button onClick={() => setIsCreating(true)}>Add robot</Button>}
    >
      <Loaded query={robots} what="robots">
        {(items) =>
          items.length === 0 ? (
            <Empty title="No robots yet">
              Add a robot to get its API key, which is shown once.
            </Empty>
          ) : (
            <div className="stack" data-stale={isStale || undefined}>
              <RobotTable robots={items} fleets={fleets.data ?? []} />
            </div>
          )
        }
      </Loaded>
      {isCreating && (
        <CreateRobot fleets={fleets.data ?? []} onClose={() => setIsCreating(false)} />
      )}
    </Page>
  );
}

/** Registers a robot, then shows its key once. */
function CreateRobot({ fleets, onClose }: { fleets: Fleet[]; onClose: () => void }) {
  const queries = useQueryClient();
  const [values, setValues] = useState({ name: '', description: '', fleetId: '' });
  const { name, description, fleetId } = values;
  const create = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const { robot, api_key: value = '' } = await ask('POST /api/v1/robots', { body });
    const secret = { what: 'key', of: robot.name, value } as const;
    showSecret(queries, secret);
    if (fleetId !== '') {
      const target = { params: { id: robot.id }, body: { fleet_id: fleetId } };
      await ask('PATCH /api/v1/robots/:id', target).catch(({ message }) =>
        showSecret(queries, { ...secret, note: `The robot is in no fleet: ${message}` }),
      );
    }
    // The list may load after the key is shown.
    queries.invalidateQueries({ queryKey: ['robots'] });
  };
  return (
    <FormDialog
      title="Add robot"
      submit="Add robot"
      canSubmit={name.trim() !== ''}
      onSubmit={create}
      onDone={onClose}
      onClose={onClose}
    >
      <RobotFields values={values} fleets={fleets} onChange={setValues} />
    </FormDialog>
  );
}
