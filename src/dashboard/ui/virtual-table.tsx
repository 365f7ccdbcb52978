// A table that draws only the rows in view. The address keeps the position.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type AriaAttributes, type ReactNode, useEffect, useRef } from 'react';
import { useSearchParam } from './fields.tsx';

export interface Column<Item> {
  title: ReactNode;
  cell: (item: Item) => ReactNode;
  /** CSS width. The columns without one share the rest. */
  width?: string | undefined;
  /** Whether phones leave it out. */
  isWide?: boolean;
  /** Whether it holds numbers, which are right-aligned. */
  isNumber?: boolean;
  /** Whether it names the row. */
  isName?: boolean;
  sorted?: AriaAttributes['aria-sort'];
}

interface VirtualTableProps<Item> {
  /** Names the table, and its position in the address. */
  label: string;
  items: readonly Item[];
  columns: readonly (Column<Item> | false)[];
  isMarked?: (item: Item) => boolean;
  /** Called while the last row is near, or the position in the address is not reached. */
  onEnd?: (() => void) | undefined;
}

/** Usual height of a row, in pixels. */
const ROW = 47;
const OVERSCAN = 8;

export function VirtualTable<Item extends { id: string }>(props: VirtualTableProps<Item>) {
  const { label, items, columns, isMarked, onEnd } = props;
  const scroller = useRef<HTMLElement>(null);
  const [kept, keep] = useSearchParam(`${label.toLowerCase()}-row`);
  /** Row of the address that is still to be shown. */
  const wanted = useRef(Number(kept) || 0);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: OVERSCAN,
    onChange({ isScrolling, range }) {
      const first = range?.startIndex ?? 0;
      if (!isScrolling && wanted.current === 0 && first !== (Number(kept) || 0)) {
        keep(first === 0 ? '' : String(first));
      }
    },
  });
  const shown = rows.getVirtualItems();
  const lastRow = shown.at(-1);
  const last = lastRow?.index ?? 0;
  const count = items.length;
  useEffect(() => {
    if (wanted.current > 0 && (wanted.current < count || !onEnd)) {
      rows.scrollToIndex(wanted.current, { align: 'start' });
      wanted.current = 0;
    }
    if (wanted.current > 0 || last >= count - OVERSCAN) onEnd?.();
  }, [rows, last, count, onEnd]);
  const cells = columns.filter((column) => column !== false);
  return (
    <section
      ref={scroller}
      className="scroll-table"
      aria-label={`Table of ${label.toLowerCase()}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
    >
      <table aria-rowcount={items.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {cells.map(({ title, width, isWide, isNumber, sorted }, place) => (
              <th
                // biome-ignore lint/suspicious/noArrayIndexKey: columns keep their places
                key={place}
                style={{ width }}
                className={`${isWide ? 'wide-only' : ''} ${isNumber ? 'number' : ''}`}
                aria-sort={sorted}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={shown[0]?.start ?? 0} />
          {shown.map(({ index, key }) => {
            const item = items[index] as Item;
            return (
              <tr
                key={key}
                ref={rows.measureElement}
                data-index={index}
                data-chosen={isMarked?.(item) || undefined}
                aria-rowindex={index + 2}
              >
                {cells.map(({ cell, isWide, isNumber, isName }, place) => {
                  const Cell = isName ? 'th' : 'td';
                  const style = `${isName ? 'row-name' : ''} ${isWide ? 'wide-only' : ''} ${isNumber ? 'number' : ''}`;
                  return (
                    // biome-ignore lint/suspicious/noArrayIndexKey: columns keep their places
                    <Cell key={place} className={style} {...(isName && { scope: 'row' })}>
                      {cell(item)}
                    </Cell>
                  );
                })}
              </tr>
            );
          })}
          <Gap height={rows.getTotalSize() - (lastRow?.end ?? 0)} />
        </tbody>
      </table>
    </section>
  );
}

/** The space of the rows that are not drawn. */
function Gap({ height }: { height: number }) {
  return height > 0 && <tr aria-hidden style={{ height }} />;
}
