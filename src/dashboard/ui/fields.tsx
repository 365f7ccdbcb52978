import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useCallback } from 'react';
import { useSearchParams } from 'wouter';
import type { limits } from '../../protocol/limits.ts';

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

/**
 * A choice that is kept in the address: it survives a reload, is shared with the link, and is there again on
 * the way back. `''` is none. It makes no step of its own in the history.
 */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = useCallback(
    (value: string) => {
      // Read at once, not as of the last drawing: two choices may come between two drawings.
      const next = new URLSearchParams(window.location.search);
      if (value === '') next.delete(name);
      else next.set(name, value);
      setSearch(next, { replace: true });
    },
    [name, setSearch],
  );
  return [search.get(name) ?? '', set];
}
