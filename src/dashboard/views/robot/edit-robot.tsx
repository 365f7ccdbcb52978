import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { Choice, optionsOf } from '../../ui/choice.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { DescriptionField, NameField } from '../../ui/text-fields.tsx';

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
      <NameField value={name} onChange={setName} />
      <DescriptionField value={description} onChange={setDescription} />
      <Choice
        label="Fleet"
        hasVisibleLabel
        options={[{ value: '', label: 'No fleet' }, ...optionsOf(fleets)]}
        value={fleetId}
        onChange={setFleetId}
      />
    </FormDialog>
  );
}
