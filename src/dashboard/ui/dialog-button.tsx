// A button that opens a dialog. It has its own file because the first load needs no dialog.
import { Button, type ButtonProps } from '@mantine/core';
import { type ComponentType, Suspense, useState } from 'react';

interface DialogButtonProps extends ButtonProps {
  label: string;
  dialog: ComponentType<{ onClose: () => void }>;
}

/** Button and dialog are one element, so that an open dialog takes no place in a row of buttons. */
export function DialogButton({ label, dialog: Dialog, ...button }: DialogButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div>
      <Button variant="filled" {...button} onClick={() => setIsOpen(true)}>
        {label}
      </Button>
      {isOpen && (
        <Suspense>
          <Dialog onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </div>
  );
}
