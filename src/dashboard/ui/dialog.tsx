// Dialogs: plain, with a form, and for deletions.
import { Button, Group, Modal, type ModalProps, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Problem } from './states.tsx';

interface DialogProps {
  title: string;
  /** Whether Escape and a click outside do not close the dialog. */
  isLocked?: boolean;
  size?: ModalProps['size'];
  onClose: () => void;
  children: ReactNode;
}

let lastOpener: Element | null = null;

/** A dialog that is open while it is mounted. Closing returns the focus to the element that had it. */
export function Dialog({ title, isLocked = false, size = 'md', onClose, children }: DialogProps) {
  const active = document.activeElement;
  // A dialog that follows another one returns the focus to where the first was opened.
  const opener = useRef(active?.closest('[role=dialog]') ? lastOpener : active);
  lastOpener = opener.current;
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
      // Inside its view, so that it is hidden and restored with the view when the session ends.
      withinPortal={false}
      size={size}
    >
      {children}
    </Modal>
  );
}

/** While `isOn`, the browser asks before it leaves the page. */
export function useWarningOnLeave(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isOn]);
}

interface FormDialogProps<Result> {
  title: string;
  /** Label of the submit button. */
  submit: string;
  /** Whether the action cannot be undone. */
  isDangerous?: boolean;
  canSubmit?: boolean;
  /** A rejection is shown, and the input stays. */
  onSubmit: () => Promise<Result>;
  onDone: (result: Result) => void;
  /** Called when the dialog is canceled. */
  onClose: () => void;
  children: ReactNode;
}

/** A dialog with a form: submits it, and shows why it failed. It cannot be closed while it waits for the answer. */
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
  const { isPending } = submission;
  useWarningOnLeave(isPending);
  const onFormSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (canSubmit && !isPending) submission.mutate();
  };
  const close = () => {
    if (!isPending) onClose();
  };
  return (
    <Dialog onClose={close} title={title} isLocked={isPending}>
      <form onSubmit={onFormSubmit}>
        <Stack>
          {children}
          <Problem of={submission} />
          <Group justify="flex-end">
            <Button variant="default" disabled={isPending} onClick={close}>
              Cancel
            </Button>
            <Button
              type="submit"
              {...(isDangerous && { color: 'red.9' })}
              loading={isPending}
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
  /** The word to type. */
  word: string;
  title: string;
  submit?: string;
  /** The consequences. */
  children: ReactNode;
  onDelete: () => Promise<unknown>;
  onClose: () => void;
}

/** Deletes only after the person typed `word`. */
export function ConfirmDeletion({
  word,
  title,
  submit = 'Delete permanently',
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
        label={`Type ${word} to confirm`}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </FormDialog>
  );
}
