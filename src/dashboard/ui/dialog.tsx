import { Alert, Button, Group, Modal, type ModalProps, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';

interface DialogProps {
  title: string;
  /** Whether neither Escape nor a click beside it closes it. */
  isLocked?: boolean;
  size?: ModalProps['size'];
  onClose: () => void;
  children: ReactNode;
}

/** Open for as long as it is there; what had the focus before has it afterwards. */
export function Dialog({ title, isLocked = false, size = 'md', onClose, children }: DialogProps) {
  const opener = useRef(document.activeElement);
  useEffect(() => {
    const { current } = opener;
    return () => {
      if (current instanceof HTMLElement) current.focus();
    };
  }, []);
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={!isLocked}
      closeOnEscape={!isLocked}
      returnFocus={false}
      // Hidden together with its view when the session ends, and there again with what was typed.
      withinPortal={false}
      size={size}
    >
      {children}
    </Modal>
  );
}

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
