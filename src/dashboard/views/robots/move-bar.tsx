// Moves the selected robots into a fleet, after a preview, and moves them back on request.
import { Button, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, optionsOf, useField } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';
import { counted } from '../../ui/values.tsx';

const AT_ONCE: typeof limits.robotsPerAssignment = 100;

interface MoveBarProps {
  robots: Robot[];
  fleets: Fleet[];
  /** Called after a move. */
  onDone: () => void;
}

/** Value of the choice that moves robots out of their fleets. */
const NONE = 'none';

export default function MoveBar({ robots, fleets, onDone }: MoveBarProps) {
  const [target, targetField] = useField();
  const [isPreviewed, setIsPreviewed] = useState(false);
  /** The robots of the last move as they were before it. */
  const [moved, setMoved] = useState<Robot[]>([]);
  const nameOf = (id: string | null) => fleets.find((fleet) => fleet.id === id)?.name ?? 'No fleet';
  const move = async (chosen: Robot[], fleetOf: (robot: Robot) => string | null) => {
    for (const fleet_id of new Set(chosen.map(fleetOf))) {
      const members = chosen.filter((robot) => fleetOf(robot) === fleet_id);
      for (let first = 0; first < members.length; first += AT_ONCE) {
        const robot_ids = members.slice(first, first + AT_ONCE).map(({ id }) => id);
        await ask('POST /api/v1/robots/bulk', { body: { robot_ids, fleet_id } });
      }
    }
  };
  const undo = useMutation({
    mutationFn: () => move(moved, ({ fleet_id }) => fleet_id),
    onSuccess: () => setMoved([]),
  });
  if (robots.length === 0) {
    if (moved.length === 0) return null;
    return (
      <section className="card assign" aria-label="Moved robots">
        <Text size="md" role="status">
          {counted(moved.length, 'robot')} moved to {nameOf(target === NONE ? null : target)}.
        </Text>
        <Button loading={undo.isPending} onClick={() => undo.mutate()}>
          Undo
        </Button>
        <Button disabled={undo.isPending} onClick={() => setMoved([])}>
          Dismiss
        </Button>
        <Problem of={undo} />
      </section>
    );
  }
  const fleetId = target === NONE ? null : target;
  const changed = robots.filter((robot) => robot.fleet_id !== fleetId);
  return (
    <section className="card assign" aria-label="Selected robots">
      <Text size="md" fw={600} role="status">
        {robots.length} selected
      </Text>
      <Choice
        aria-label="Move to"
        options={optionsOf('Move to …', [...fleets, { id: NONE, name: 'No fleet' }])}
        {...targetField}
      />
      <Button
        variant="filled"
        disabled={target === '' || changed.length === 0}
        onClick={() => setIsPreviewed(true)}
      >
        Preview move
      </Button>
      <Button onClick={onDone}>Clear</Button>
      {isPreviewed && (
        <FormDialog
          title={`Move ${counted(changed.length, 'robot')} to ${nameOf(fleetId)}`}
          submit={`Move ${counted(changed.length, 'robot')}`}
          onSubmit={async () => {
            await move(changed, () => fleetId);
            setMoved(changed);
            onDone();
          }}
          onClose={() => setIsPreviewed(false)}
        >
          <ul className="preview">
            {changed.map(({ id, name, fleet_id }) => (
              <li key={id}>
                <Group justify="space-between" gap="xs">
                  <span>{name}</span>
                  <Text c="dimmed">
                    {nameOf(fleet_id)} → {nameOf(fleetId)}
                  </Text>
                </Group>
              </li>
            ))}
          </ul>
          {changed.length < robots.length && (
            <Text c="dimmed">
              {counted(robots.length - changed.length, 'robot')} already there.
            </Text>
          )}
        </FormDialog>
      )}
    </section>
  );
}
