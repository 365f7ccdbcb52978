// A robot's states, tasks and events over time, in line with the charts below.
import { Link } from 'wouter';
import { stateColor } from '../ui/badge.tsx';
import { dateAndTime } from '../ui/time.tsx';
import type { Stretch, Timeline } from './series.ts';
import type { Mark } from './time-series.tsx';
import './charts.css';

/** Hatched without samples. The marks are links for a pointer: the lists below the charts have them too. */
export function StateTimeline({ line, marks }: { line: Timeline; marks: readonly Mark[] }) {
  const { from, to, stretches } = line;
  const seen = [...new Set(stretches.map(({ state }) => state).filter((state) => state !== null))];
  const place = (at: number) => `${((at - from) / (to - from)) * 100}%`;
  return (
    <figure className="series">
      <figcaption>
        <span className="card-title">State</span>
      </figcaption>
      <div className="timeline">
        {stretches.map((stretch) => (
          <div
            key={stretch.from}
            title={labelOf(stretch)}
            data-gap={stretch.state === null || undefined}
            style={{
              left: place(stretch.from),
              width: `${((stretch.to - stretch.from) / (to - from)) * 100}%`,
              ...(stretch.state !== null && { background: `var(--${stateColor(stretch.state)})` }),
            }}
          />
        ))}
      </div>
      <div className="marks" aria-hidden>
        {marks.map(({ at, label, color, href }) => (
          <Link
            key={`${at} ${label}`}
            href={href}
            tabIndex={-1}
            title={`${label}, ${dateAndTime(at)}`}
            style={{ left: place(at), color: `var(--${color})` }}
          />
        ))}
      </div>
      <div className="legend" aria-hidden>
        {seen.map((state) => (
          <span key={state}>
            <i style={{ background: `var(--${stateColor(state)})` }} />
            {nameOf(state)}
          </span>
        ))}
        <span>
          <i className="gap" />
          no telemetry
        </span>
      </div>
      <ol className="hidden" aria-label="States over time">
        {stretches.map((stretch) => (
          <li key={stretch.from}>{labelOf(stretch)}</li>
        ))}
      </ol>
    </figure>
  );
}

const labelOf = ({ state, from }: Stretch) => `${nameOf(state)} from ${dateAndTime(from)}`;

const nameOf = (state: string | null) => (state ?? 'no telemetry') || 'no state';
