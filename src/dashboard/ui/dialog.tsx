import { Modal, type ModalProps } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

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
