// The time axis of all charts of a page: one period, one cursor and one zoom.
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react';
import type { Timeline } from './series.ts';
import './axis.css';

interface AxisProps {
  line: Pick<Timeline, 'from' | 'to' | 'at'>;
  /** Time of the cursor, null without one. */
  cursor: number | null;
  /** The values at the cursor. */
  readout: string;
  onPoint: (cursor: number | null) => void;
  onZoom: (from: number, to: number) => void;
  children: ReactNode;
}

/** A shorter drag is a click, in pixels. */
const LEAST_DRAG = 8;

/** Share of the period by which an arrow key moves the cursor where there is no telemetry. */
const STEP = 1 / 50;

/** Charts below a readout. The pointer reads values and zooms by dragging; the keyboard does so in the readout. */
export function Axis({ line, cursor, readout, onPoint, onZoom, children }: AxisProps) {
  const { from, to } = line;
  const area = useRef<HTMLDivElement>(null);
  /** Places in pixels from the left end of the axis: where the drag began, and the pointer. */
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const place = ({ clientX }: PointerEvent) => {
    const { left = 0, width = 1 } = area.current?.getBoundingClientRect() ?? {};
    return Math.min(width, Math.max(0, clientX - left));
  };
  const timeAt = (x: number) => from + ((to - from) * x) / (area.current?.clientWidth || 1);
  const end = (event: PointerEvent) => {
    const [begun, ended] = [drag?.[0] ?? 0, place(event)];
    const [left, right] = [Math.min(begun, ended), Math.max(begun, ended)];
    if (drag !== null && right - left >= LEAST_DRAG) onZoom(timeAt(left), timeAt(right));
    setDrag(null);
  };
  const press = (event: KeyboardEvent) => {
    const middle = cursor ?? (from + to) / 2;
    const zoom = { '+': 1 / 4, '-': 1 }[event.key];
    const moved = movedBy(event.key, line, middle);
    if (zoom !== undefined) onZoom(middle - zoom * (to - from), middle + zoom * (to - from));
    if (moved !== undefined) onPoint(moved);
    if (zoom !== undefined || moved !== undefined) event.preventDefault();
  };
  return (
    // The readout is the part of it for the keyboard.
    <div
      className="axis stack"
      onPointerDown={(event) => {
        // A tap does not move.
        onPoint(nearest(line, timeAt(place(event))));
        const isMouse = event.pointerType === 'mouse' && event.button === 0;
        if (isMouse && !isControl(event.target)) setDrag([place(event), place(event)]);
      }}
      onPointerMove={(event) => {
        onPoint(nearest(line, timeAt(place(event))));
        if (drag === null) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([drag[0], place(event)]);
      }}
      onPointerUp={end}
      onPointerCancel={() => setDrag(null)}
      onPointerLeave={({ pointerType }) =>
        pointerType === 'mouse' && drag === null && onPoint(null)
      }
    >
      <div
        className="readout"
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={from}
        aria-valuemax={to}
        aria-valuenow={cursor ?? from}
        aria-valuetext={readout}
        onKeyDown={press}
      >
        {readout}
      </div>
      {children}
      <div className="axis-area" ref={area} aria-hidden>
        {cursor !== null && (
          <i
            className="axis-cursor"
            style={{ left: `${(100 * (cursor - from)) / (to - from)}%` }}
          />
        )}
        {drag && (
          <i
            className="axis-selection"
            style={{ left: Math.min(...drag), width: Math.abs(drag[1] - drag[0]) }}
          />
        )}
      </div>
    </div>
  );
}

const isControl = (target: EventTarget) =>
  target instanceof Element && target.closest('a, button, input, select, label, .readout') !== null;

/** The time of the nearest telemetry within the period; `time` itself if there is none. */
function nearest({ from, to, at }: AxisProps['line'], time: number): number {
  const inside = at.filter((one) => one >= from && one <= to);
  return inside.reduce(
    (best, one) => (Math.abs(one - time) < Math.abs(best - time) ? one : best),
    inside[0] ?? time,
  );
}

/** Where a key moves the cursor; undefined for other keys. */
function movedBy(key: string, line: AxisProps['line'], cursor: number): number | null | undefined {
  if (key === 'ArrowLeft') return nextOf(line, cursor, -1);
  if (key === 'ArrowRight') return nextOf(line, cursor, 1);
  if (key === 'Home') return nextOf(line, line.from - 1, 1);
  if (key === 'End') return nextOf(line, line.to + 1, -1);
  return key === 'Escape' ? null : undefined;
}

/** The time of the next telemetry in a direction. */
function nextOf({ from, to, at }: AxisProps['line'], time: number, direction: 1 | -1): number {
  const inside = at.filter((one) => one >= from && one <= to);
  const next =
    direction > 0 ? inside.find((one) => one > time) : inside.findLast((one) => one < time);
  const step = direction * STEP * (to - from);
  return next ?? Math.min(to, Math.max(from, inside.length > 0 ? time : time + step));
}
