// Robots: table and registration.
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type Reply } from '../api.ts';
import { fleetsQuery, robotsQuery } from '../queries.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { DescriptionField, NameField } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness, useStale } from '../ui/time.tsx';
import { KeyDialog } from './robot/key.tsx';
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
      {isCreating && <CreateRobot onClose={() => setIsCreating(false)} />}
    </Page>
  );
}

/** Registers a robot, then shows its key once. */
function CreateRobot({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [made, setMade] = useState<Reply<'POST /api/v1/robots'>>();
  if (made?.api_key) {
    return <KeyDialog robot={made.robot.name} apiKey={made.api_key} onClose={onClose} />;
  }
  const create = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const reply = await ask('POST /api/v1/robots', { body });
    // The list may load after the key is shown.
    queries.invalidateQueries({ queryKey: ['robots'] });
    return reply;
  };
  return (
    <FormDialog
      title="Add robot"
      submit="Add robot"
      canSubmit={name.trim() !== ''}
      onSubmit={create}
      onDone={setMade}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <DescriptionField value={description} onChange={setDescription} />
    </FormDialog>
  );
}
