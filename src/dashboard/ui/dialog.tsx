// Dialogs: plain, with a form, and for deletions.
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
import '@mantine/core/styles/ScrollArea.css';
import '@mantine/core/styles/Overlay.css';
import '@mantine/core/styles/ModalBase.css';
import '@mantine/core/styles/Modal.css';
import { Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { TextField, useField } from './fields.tsx';
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
  const [opener] = useState(() => {
    const active = document.activeElement;
    // A dialog that follows another one returns the focus to where the first was opened.
    return active?.closest('[role=dialog]') ? lastOpener : active;
  });
  useEffect(() => {
    lastOpener = opener;
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, [opener]);
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
  useWindowEvent('beforeunload', (event) => isOn && event.preventDefault());
}

interface FormDialogProps extends Pick<DialogProps, 'title' | 'children'> {
  /** Label of the submit button. */
  submit: string;
  /** Whether the action cannot be undone. */
  isDangerous?: boolean;
  canSubmit?: boolean;
  /** A rejection is shown, and the input stays. */
  onSubmit: () => Promise<unknown>;
  /** Called when the dialog is canceled or has done its work. */
  onClose: () => void;
}

/**
 * A dialog with a form: submits it, and shows why it failed. It cannot be closed while it waits for the answer. Once
 * something was entered, only its buttons close it: a click outside or Escape would lose the input.
 */
export function FormDialog({
  title,
  submit,
  isDangerous = false,
  canSubmit = true,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  const submission = useMutation({ mutationFn: onSubmit, onSuccess: onClose });
  const { isPending } = submission;
  const [isTouched, setTouched] = useState(false);
  useWarningOnLeave(isPending);
  const onFormSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (canSubmit && !isPending) submission.mutate();
  };
  const close = () => {
    if (!isPending) onClose();
  };
  return (
    <Dialog onClose={close} title={title} isLocked={isPending || isTouched}>
      <form onSubmit={onFormSubmit} onInput={() => setTouched(true)}>
        <Stack>
          {children}
          <Problem of={submission} />
          <Group justify="flex-end">
            <Button disabled={isPending} onClick={close}>
              Cancel
            </Button>
            <Button
              type="submit"
              variant="filled"
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

interface ConfirmDeletionProps extends Omit<FormDialogProps, 'submit'> {
  /** The word to type. */
  word: string;
  submit?: string;
}

/** Deletes only after the person typed `word`. The children name the consequences. */
export function ConfirmDeletion({ word, children, ...dialog }: ConfirmDeletionProps) {
  const [typed, field] = useField();
  return (
    <FormDialog submit="Delete permanently" {...dialog} isDangerous canSubmit={typed === word}>
      <Text>{children}</Text>
      <TextField
        label={`Type ${word} to confirm`}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...field}
      />
    </FormDialog>
  );
}
