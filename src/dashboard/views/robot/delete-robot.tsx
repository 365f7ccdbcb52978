// The dialogs that change and delete a robot.
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { ConfirmDeletion, FormDialog } from '../../ui/dialog.tsx';
import { RobotFields } from '../robots/robot-fields.tsx';

interface EditRobotProps {
  robot: Robot;
  fleets: Fleet[];
  onClose: () => void;
}

/** Changes name, description and fleet of a robot. Its key stays. */
export function EditRobot({ robot, fleets, onClose }: EditRobotProps) {
  const queries = useQueryClient();
  const [values, setValues] = useState({
    name: robot.name,
    description: robot.description ?? '',
    fleetId: robot.fleet_id ?? '',
  });
  const { name, description, fleetId } = values;
  const save = async () => {
    await ask('PATCH /api/v1/robots/:id', {
      params: { id: robot.id },
      body: { name, description: description || null, fleet_id: fleetId || null },
    });
    await queries.invalidateQueries({ queryKey: ['robots'] });
  };
  return (
    <FormDialog
      title={`Edit ${robot.name}`}
      submit="Save"
      canSubmit={name.trim() !== ''}
      onSubmit={save}
      onDone={onClose}
      onClose={onClose}
    >
      <RobotFields values={values} fleets={fleets} onChange={setValues} />
    </FormDialog>
  );
}

interface DeleteRobotProps {
  robot: Robot;
  onClose: () => void;
}

export function DeleteRobot({ robot, onClose }: DeleteRobotProps) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDeletion
      word={robot.name}
      title={`Delete ${robot.name}`}
      onClose={onClose}
      onDelete={async () => {
        await ask('DELETE /api/v1/robots/:id', { params: { id: robot.id } });
        navigate('/robots');
        queries.removeQueries({ queryKey: ['robots', robot.id] });
        await queries.invalidateQueries();
      }}
    >
      <Text size="sm">
        This deletes its tasks, telemetry and events, and its key stops working immediately. Queued
        proofs are cancelled; signed ones are still anchored and charged. Its proofs can no longer
        be looked up here, but saved bundles stay valid.
      </Text>
    </ConfirmDeletion>
  );
}
