import { Modal, type ModalProps } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';

interface DialogProps {
  title: string;
  /** Whether only its own buttons close it. */
  locked?: boolean;
  size?: ModalProps['size'];
  onClose: () => void;
  children: ReactNode;
}

/** Open for as long as it is there; what had the focus before has it afterwards. */
export function Dialog({ title, locked = false, size, onClose, children }: DialogProps) {
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
      closeOnClickOutside={!locked}
      closeOnEscape={!locked}
      returnFocus={false}
      size={size ?? 'md'}
    >
      {children}
    </Modal>
  );
}
