// A table that scrolls inside its card.
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface ScrollTableProps {
  label: string;
  /** Pixels. A higher table scrolls, also by keyboard. */
  maxHeight?: number;
  className?: string;
  children: ReactNode;
}

export function ScrollTable({ label, maxHeight, className = '', children }: ScrollTableProps) {
  return (
    <section
      className={`scroll-table ${className}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      style={{ maxHeight }}
    >
      <Table highlightOnHover verticalSpacing="sm">
        {children}
      </Table>
    </section>
  );
}
