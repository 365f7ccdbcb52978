// A robot's states, tasks and events over time, in line with the charts below.
import { Link } from 'wouter';
import { stateColor } from '../ui/badge.tsx';
import { dateAndTime } from '../ui/time.tsx';
import { type Stretch, sumOf, type Timeline } from './series.ts';
import { nameOf, sharesOf } from './shares.ts';
import type { Mark } from './time-series.tsx';
import './axis.css';
import './charts.css';

/**
 * Each interval shows the share of each state, stacked to the full height. Hatched without samples. The marks are links
 * for a pointer: the lists below the charts have them too.
 */
export function StateTimeline({ line, marks }: { line: Timeline; marks: readonly Mark[] }) {
  const { from, to, stretches } = line;
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
            data-gap={stretch.states === null || undefined}
            style={{
              left: place(stretch.from),
              width: `${((stretch.to - stretch.from) / (to - from)) * 100}%`,
            }}
          >
            {sharesOf(stretch.states).map(({ state, count }) => (
              <i
                key={state}
                data-state={state}
                style={{ flexGrow: count, background: `var(--${stateColor(state)})` }}
              />
            ))}
          </div>
        ))}
      </div>
      <div className="marks" aria-hidden>
        {marks.map(({ at, label, color, href }) => (
          <Link
            key={`${at} ${label}`}
            href={href}
            tabIndex={-1}
            draggable={false}
            title={`${label}, ${dateAndTime(at)}`}
            style={{ left: place(at), color: `var(--${color})` }}
          />
        ))}
      </div>
      <div className="legend">
        {sharesOf(sumOf(stretches.map(({ states }) => states))).map(({ state, text }) => (
          <span key={state}>
            <i style={{ background: `var(--${stateColor(state)})` }} />
            {text}
          </span>
        ))}
        <span aria-hidden>
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

function labelOf({ states, from }: Stretch): string {
  const [one, ...more] = sharesOf(states);
  const text = one === undefined ? 'no telemetry' : nameOf(one.state);
  const all = more.length === 0 ? text : [one, ...more].map((share) => share?.text).join(', ');
  return `${all} from ${dateAndTime(from)}`;
}
