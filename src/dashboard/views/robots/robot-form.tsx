// The form that registers or changes a robot.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { fleetsQuery, robotsQuery } from '../../queries.ts';
import { DescriptionField } from '../../ui/description-field.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, changesOf, NameField, optionsOf, useField } from '../../ui/fields.tsx';
import { useNameCheck } from '../../ui/name-check.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';

interface RobotFormProps {
  /** None for a new robot, whose key is shown once. The key of another robot stays. */
  robot?: Robot;
  onClose: () => void;
}

export default function RobotForm({ robot: current, onClose }: RobotFormProps) {
  // As the fields began: the stream may change the robot meanwhile.
  const [robot] = useState(current);
  const queries = useQueryClient();
  const { data: fleets } = useQuery(fleetsQuery);
  const { data: robots } = useQuery(robotsQuery);
  const [name, nameField] = useField(robot?.name);
  const [description, descriptionField] = useField(robot?.description ?? '');
  // A robot that keeps its name needs no consent.
  const { isFree, warning } = useNameCheck(name, name === robot?.name ? [] : robots);
  /** `''` for no fleet. */
  const [fleetId, fleetField] = useField(robot?.fleet_id ?? '');
  const create = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const { robot: made, api_key: value = '' } = await ask('POST /api/v1/robots', { body });
    const secret = { what: 'key', of: made.name, value } as const;
    showSecret(queries, secret);
    if (fleetId !== '') {
      const target = { params: { id: made.id }, body: { fleet_id: fleetId } };
      await ask('PATCH /api/v1/robots/:id', target).catch(({ message }) =>
        showSecret(queries, { ...secret, note: `The robot is in no fleet: ${message}` }),
      );
    }
  };
  const change = async (before: Robot) => {
    const after = { name, description: description || null, fleet_id: fleetId || null };
    const body = changesOf(before, after);
    if (Object.keys(body).length === 0) return;
    await ask('PATCH /api/v1/robots/:id', { params: { id: before.id }, body });
  };
  return (
    <FormDialog
      title={robot === undefined ? 'Add robot' : `Edit ${robot.name}`}
      submit={robot === undefined ? 'Add robot' : 'Save'}
      canSubmit={name.trim() !== '' && isFree}
      onSubmit={() => (robot === undefined ? create() : change(robot))}
      onClose={onClose}
    >
      <NameField {...nameField} />
      {warning}
      <DescriptionField {...descriptionField} />
      <Choice label="Fleet" options={optionsOf('No fleet', fleets)} {...fleetField} />
    </FormDialog>
  );
}
