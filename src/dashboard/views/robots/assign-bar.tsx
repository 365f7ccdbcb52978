// The bar that moves selected robots into a fleet.
import { Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { Choice, optionsOf } from '../../ui/fields.tsx';
import { Problem } from '../../ui/states.tsx';

const AT_ONCE: typeof limits.robotsPerAssignment = 100;

interface AssignBarProps {
  robots: Robot[];
  fleets: Fleet[];
  onDone: () => void;
}

export function AssignBar({ robots, fleets, onDone }: AssignBarProps) {
  const queries = useQueryClient();
  const [fleetId, setFleetId] = useState('');
  const assign = useMutation({
    mutationFn: () => {
      const ids = robots.map(({ id }) => id);
      const parts = Array.from({ length: Math.ceil(ids.length / AT_ONCE) }, (_, part) =>
        ids.slice(part * AT_ONCE, (part + 1) * AT_ONCE),
      );
      return Promise.all(
        parts.map((robot_ids) =>
          ask('POST /api/v1/robots/bulk', { body: { robot_ids, fleet_id: fleetId || null } }),
        ),
      );
    },
    onSuccess: onDone,
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['robots'] }),
        queries.invalidateQueries({ queryKey: ['fleets'] }),
      ]),
  });
  if (robots.length === 0) return null;
  return (
    <section className="card assign" aria-label="Selected robots">
      <Text fw={600} role="status">
        {robots.length} selected
      </Text>
      <Choice
        label="Move to"
        options={[{ value: '', label: 'No fleet' }, ...optionsOf(fleets)]}
        value={fleetId}
        onChange={setFleetId}
      />
      <Button loading={assign.isPending} onClick={() => assign.mutate()}>
        Move
      </Button>
      <Button variant="default" onClick={onDone}>
        Clear
      </Button>
      <Problem of={assign} />
    </section>
  );
}
