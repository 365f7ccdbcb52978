import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Dialog } from './dialog.tsx';

interface ConfirmDeletionProps {
  /** What has to be typed. */
  name: string;
  title: string;
  /** What comes with it. */
  children: ReactNode;
  onDelete: () => Promise<unknown>;
  onClose: () => void;
}

/** Deletes only what was named, letter by letter. */
export function ConfirmDeletion({
  name,
  title,
  children,
  onDelete,
  onClose,
}: ConfirmDeletionProps) {
  const [typed, setTyped] = useState('');
  const deletion = useMutation({ mutationFn: onDelete, onSuccess: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === name) deletion.mutate();
  };
  return (
    <Dialog onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack>
          {children}
          <TextInput
            label={`Type ${name} to go on`}
            data-autofocus
            autoComplete="off"
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {deletion.isError && (
            <Alert color="red" role="alert">
              {deletion.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              color="red.9"
              loading={deletion.isPending}
              disabled={typed !== name}
            >
              Delete for good
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
