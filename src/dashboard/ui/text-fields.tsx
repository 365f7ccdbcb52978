import { Textarea, TextInput } from '@mantine/core';
import type { limits } from '../../protocol/limits.ts';

const NAME_LENGTH: typeof limits.nameLength = 80;
const DESCRIPTION_LENGTH: typeof limits.descriptionLength = 2000;

interface TextFieldProps {
  value: string;
  onChange: (value: string) => void;
}

/** What a robot or a fleet is called. */
export function NameField({ value, onChange }: TextFieldProps) {
  return (
    <TextInput
      label="Name"
      required
      data-autofocus
      maxLength={NAME_LENGTH}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** What is said of a robot or a fleet. */
export function DescriptionField({ value, onChange }: TextFieldProps) {
  return (
    <Textarea
      label="Description"
      rows={3}
      maxLength={DESCRIPTION_LENGTH}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
