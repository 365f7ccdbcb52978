// Form fields, and choices that are kept in the address.
import {
  NativeSelect,
  type NativeSelectProps,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useCallback, useState } from 'react';
import { useSearchParams } from 'wouter';
import type { limits } from '../../protocol/limits.ts';

export interface Option {
  value: string;
  label: string;
}

interface ChoiceProps extends Omit<NativeSelectProps, 'data' | 'onChange'> {
  /** The first option is the default. */
  options: readonly Option[];
  onChange: (value: string) => void;
}

/** A choice of one option. */
export function Choice({ options, onChange, ...select }: ChoiceProps) {
  return (
    <NativeSelect
      {...select}
      data={[...options]}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** A choice of one option that the address keeps under `name`. */
export function AddressChoice({ name, ...choice }: AddressChoiceProps) {
  const [value, setValue] = useSearchParam(name);
  return <Choice {...choice} value={value} onChange={setValue} />;
}

type AddressChoiceProps = { name: string } & Omit<ChoiceProps, 'value' | 'onChange'>;

/** Options by value, after the one that is no choice. */
export function choices(none: string, labels: Readonly<Record<string, string>>): Option[] {
  const others = Object.entries(labels).map(([value, label]) => ({
    value,
    label: label.charAt(0).toUpperCase() + label.slice(1),
  }));
  return [{ value: '', label: none }, ...others];
}

/** Options for named items, after the one that is no choice. */
export function optionsOf(
  none: string,
  items: readonly { id: string; name: string }[] = [],
): Option[] {
  return [{ value: '', label: none }, ...items.map(({ id, name }) => ({ value: id, label: name }))];
}

interface TextFieldProps extends Omit<TextInputProps, 'onChange'> {
  onChange: (value: string) => void;
}

export function TextField({ onChange, ...input }: TextFieldProps) {
  return <TextInput {...input} onChange={({ currentTarget }) => onChange(currentTarget.value)} />;
}

const NAME_LENGTH: typeof limits.nameLength = 80;

export type FormFieldProps = Pick<TextFieldProps, 'value' | 'onChange'>;

/** The value of a form's field, and the props of the field. */
export function useField(initial = '') {
  const [value, onChange] = useState(initial);
  return [value, { value, onChange }] as const;
}

/** Name of a robot, a fleet or a token. */
export function NameField(field: FormFieldProps) {
  return <TextField label="Name" required data-autofocus maxLength={NAME_LENGTH} {...field} />;
}

/**
 * A choice that is kept in the address, so that it survives a reload, is part of a shared link, and returns with the
 * Back button. `''` is no choice. A change adds no entry to the history.
 */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (value: string) => {
      // Read now, not at the last render: there may be two changes between two renders.
      const next = new URLSearchParams(window.location.search);
      if (value === '') next.delete(name);
      else next.set(name, value);
      // A list with another filter begins at its top.
      if (!name.endsWith('-row')) {
        for (const key of [...next.keys()]) if (key.endsWith('-row')) next.delete(key);
      }
      setSearch(next, { replace: true });
    },
    [name, setSearch],
  );
  return [search.get(name) ?? '', set];
}

/** The members that differ: a form that sends the others would undo what a colleague changed meanwhile. */
export function changesOf<Values extends object>(before: Values, after: Partial<Values>) {
  const isSame = (name: string, value: unknown) =>
    JSON.stringify(before[name as keyof Values]) === JSON.stringify(value);
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !isSame(name, value)),
  ) as Partial<Values>;
}
