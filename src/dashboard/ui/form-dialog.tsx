import { Alert, Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface FormDialogProps<Result> {
  title: string;
  /** What the button that submits says. */
  submit: string;
  /** Whether it takes something away that cannot be brought back. */
  isDangerous?: boolean;
  canSubmit?: boolean;
  /** What it rejects with is shown, and what was entered stays. */
  onSubmit: () => Promise<Result>;
  onDone: (result: Result) => void;
  /** Called where nothing was done. */
  onClose: () => void;
  children: ReactNode;
}

/** Asks for something, and does it. */
export function FormDialog<Result>({
  title,
  submit,
  isDangerous = false,
  canSubmit = true,
  onSubmit,
  onDone,
  onClose,
  children,
}: FormDialogProps<Result>) {
  const submission = useMutation({ mutationFn: onSubmit, onSuccess: onDone });
  const onFormSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (canSubmit && !submission.isPending) submission.mutate();
  };
  return (
    <Dialog onClose={onClose} title={title}>
      <form onSubmit={onFormSubmit}>
        <Stack>
          {children}
          {submission.isError && (
            <Alert color="red" role="alert">
              {submission.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              {...(isDangerous && { color: 'red.9' })}
              loading={submission.isPending}
              disabled={!canSubmit}
            >
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
