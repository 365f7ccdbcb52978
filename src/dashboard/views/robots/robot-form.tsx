// The form that registers or changes a robot.
import { useQueryClient } from '@tanstack/react-query';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { DescriptionField } from '../../ui/description-field.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Choice, NameField, optionsOf, useField } from '../../ui/fields.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';

interface RobotFormProps {
  /** Null for a new robot, whose key is shown once. The key of another robot stays. */
  robot: Robot | null;
  fleets: readonly Fleet[];
  onClose: () => void;
}

export default function RobotForm({ robot, fleets, onClose }: RobotFormProps) {
  const queries = useQueryClient();
  const [name, nameField] = useField(robot?.name);
  const [description, descriptionField] = useField(robot?.description ?? '');
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
  const change = async (id: string) => {
    const body = { name, description: description || null, fleet_id: fleetId || null };
    await ask('PATCH /api/v1/robots/:id', { params: { id }, body });
  };
  return (
    <FormDialog
      title={robot === null ? 'Add robot' : `Edit ${robot.name}`}
      submit={robot === null ? 'Add robot' : 'Save'}
      canSubmit={name.trim() !== ''}
      onSubmit={() => (robot === null ? create() : change(robot.id))}
      onClose={onClose}
    >
      <NameField {...nameField} />
      <DescriptionField {...descriptionField} />
      <Choice label="Fleet" options={optionsOf('No fleet', fleets)} {...fleetField} />
    </FormDialog>
  );
}
