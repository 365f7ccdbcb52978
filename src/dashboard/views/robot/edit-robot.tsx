import { Alert, Button, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';

const NAME_LENGTH: typeof limits.nameLength = 80;
const DESCRIPTION_LENGTH: typeof limits.descriptionLength = 2000;

import { Dialog } from '../../ui/dialog.tsx';

interface EditRobotProps {
  robot: Robot;
  fleets: Fleet[];
  onClose: () => void;
}

/** Renames a robot, describes it anew, moves it. Its key stays. */
export function EditRobot({ robot, fleets, onClose }: EditRobotProps) {
  const queries = useQueryClient();
  const [name, setName] = useState(robot.name);
  const [description, setDescription] = useState(robot.description ?? '');
  const [fleetId, setFleetId] = useState(robot.fleet_id ?? '');
  const save = useMutation({
    mutationFn: () =>
      ask('PATCH /api/v1/robots/:id', {
        params: { id: robot.id },
        body: { name, description: description || null, fleet_id: fleetId || null },
      }),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ['robots'] });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog onClose={onClose} title={`Edit ${robot.name}`}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            required
            data-autofocus
            maxLength={NAME_LENGTH}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Textarea
            label="Description"
            maxLength={DESCRIPTION_LENGTH}
            value={description}
            onChange={({ currentTarget }) => setDescription(currentTarget.value)}
          />
          <NativeSelect
            label="Fleet"
            value={fleetId}
            onChange={({ currentTarget }) => setFleetId(currentTarget.value)}
            data={[
              { value: '', label: 'No fleet' },
              ...fleets.map((fleet) => ({ value: fleet.id, label: fleet.name })),
            ]}
          />
          {save.isError && (
            <Alert color="red" role="alert">
              {save.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
