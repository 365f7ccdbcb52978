import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormDialog } from './form-dialog.tsx';

interface ConfirmDeletionProps {
  /** What has to be typed. */
  word: string;
  title: string;
  submit?: string;
  /** What comes with it. */
  children: ReactNode;
  onDelete: () => Promise<unknown>;
  onClose: () => void;
}

/** Deletes only what was named, letter by letter. */
export function ConfirmDeletion({
  word,
  title,
  submit = 'Delete for good',
  children,
  onDelete,
  onClose,
}: ConfirmDeletionProps) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={title}
      submit={submit}
      isDangerous
      canSubmit={typed === word}
      onSubmit={onDelete}
      onDone={onClose}
      onClose={onClose}
    >
      {children}
      <TextInput
        label={`Type ${word} to go on`}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </FormDialog>
  );
}
