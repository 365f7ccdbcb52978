import { NativeSelect } from '@mantine/core';

export interface Option {
  value: string;
  label: string;
}

interface ChoiceProps {
  label: string;
  /** Whether the label stands above it; else it is for screen readers alone. */
  hasVisibleLabel?: boolean;
  /** The first one is what is chosen where nothing else is. */
  options: readonly Option[];
  value: string;
  onChange: (value: string) => void;
}

/** One of several. */
export function Choice({ label, hasVisibleLabel = false, options, value, onChange }: ChoiceProps) {
  return (
    <NativeSelect
      {...(hasVisibleLabel ? { label } : { 'aria-label': label })}
      data={[...options]}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** Options for what has a name. */
export function optionsOf(items: readonly { id: string; name: string }[] | undefined): Option[] {
  return (items ?? []).map(({ id, name }) => ({ value: id, label: name }));
}
