// The field for the description of a robot or a fleet. It has its own file to keep the first load small.
import { Textarea } from '@mantine/core';
import type { limits } from '../../protocol/limits.ts';
import type { FormFieldProps } from './fields.tsx';

const DESCRIPTION_LENGTH: typeof limits.descriptionLength = 2000;

export function DescriptionField({ onChange, ...field }: FormFieldProps) {
  return (
    <Textarea
      label="Description"
      rows={3}
      maxLength={DESCRIPTION_LENGTH}
      {...field}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
