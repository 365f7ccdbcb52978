// A chart of a robot's states over time.
import type { SeriesPoint } from '../../protocol/telemetry.ts';
import { stateColor } from '../ui/badge.tsx';
import { dateAndTime } from '../ui/time.tsx';
import './charts.css';

interface StateTimelineProps {
  at: number[];
  points: (SeriesPoint | null)[];
}

interface Stretch {
  state: string | null;
  /** Indexes in `at`; `to` is exclusive. */
  from: number;
  to: number;
}

/** A robot's state over time; blank without samples. */
export function StateTimeline({ at, points }: StateTimelineProps) {
  const stretches = stretchesOf(points);
  const seen = [...new Set(stretches.map(({ state }) => state).filter((state) => state !== null))];
  const label = (stretch: Stretch) =>
    `${stretch.state ?? 'no telemetry'} from ${dateAndTime(at[stretch.from] ?? 0)}`;
  return (
    <figure className="series">
      <figcaption>
        <span className="card-title">State</span>
      </figcaption>
      <div className="timeline">
        {stretches.map((stretch) => (
          <div
            key={stretch.from}
            title={label(stretch)}
            data-gap={stretch.state === null || undefined}
            style={{
              flexGrow: stretch.to - stretch.from,
              ...(stretch.state !== null && { background: `var(--${stateColor(stretch.state)})` }),
            }}
          />
        ))}
      </div>
      <div className="bars-ends" aria-hidden>
        <span>{dateAndTime(at[0] ?? 0)}</span>
        <span>now</span>
      </div>
      <div className="legend" aria-hidden>
        {seen.map((state) => (
          <span key={state}>
            <i style={{ background: `var(--${stateColor(state)})` }} />
            {state}
          </span>
        ))}
        <span>
          <i className="gap" />
          no telemetry
        </span>
      </div>
      <ol className="hidden" aria-label="States over time">
        {stretches.map((stretch) => (
          <li key={stretch.from}>{label(stretch)}</li>
        ))}
      </ol>
    </figure>
  );
}

/** Joins neighboring intervals with the same state. */
function stretchesOf(points: (SeriesPoint | null)[]): Stretch[] {
  const stretches: Stretch[] = [];
  points.forEach((point, place) => {
    const state = mostly(point);
    const last = stretches.at(-1);
    if (last !== undefined && last.state === state) last.to = place + 1;
    else stretches.push({ state, from: place, to: place + 1 });
  });
  return stretches;
}

/** The state of most samples in the interval. */
function mostly(point: SeriesPoint | null): string | null {
  const counted = Object.entries(point?.states ?? {}).sort(([, a], [, b]) => b - a);
  return counted[0]?.[0] ?? null;
}
