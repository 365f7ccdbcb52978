import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface ScrollTableProps {
  label: string;
  /** Pixels; where there are fewer, the table scrolls, by the keyboard too. */
  minWidth: number;
  maxHeight?: number;
  className?: string;
  children: ReactNode;
}

export function ScrollTable({
  label,
  minWidth,
  maxHeight,
  className = '',
  children,
}: ScrollTableProps) {
  return (
    <section
      className={`scroll-table ${className}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
      tabIndex={0}
      style={{ maxHeight }}
    >
      <Table highlightOnHover verticalSpacing="sm" miw={minWidth}>
        {children}
      </Table>
    </section>
  );
}
