// The fields of a robot, for a new one and for changes.
import type { Fleet } from '../../../protocol/fleets.ts';
import { DescriptionField } from '../../ui/description-field.tsx';
import { Choice, NameField, optionsOf } from '../../ui/fields.tsx';

interface RobotValues {
  name: string;
  description: string;
  /** `''` for no fleet. */
  fleetId: string;
}

interface RobotFieldsProps {
  values: RobotValues;
  fleets: readonly Fleet[];
  onChange: (values: RobotValues) => void;
}

export function RobotFields({ values, fleets, onChange }: RobotFieldsProps) {
  return (
    <>
      <NameField value={values.name} onChange={(name) => onChange({ ...values, name })} />
      <DescriptionField
        value={values.description}
        onChange={(description) => onChange({ ...values, description })}
      />
      <Choice
        label="Fleet"
        hasVisibleLabel
        options={[{ value: '', label: 'No fleet' }, ...optionsOf(fleets)]}
        value={values.fleetId}
        onChange={(fleetId) => onChange({ ...values, fleetId })}
      />
    </>
  );
}
