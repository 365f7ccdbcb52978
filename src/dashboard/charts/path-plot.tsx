// A chart of the path of a robot: two metrics as a place, colored by time.
import { dateAndTime } from '../ui/time.tsx';
import { metricOf, type Timeline, valuesOf } from './series.ts';
import { numberText } from './time-series.tsx';
import './axis.css';

interface PathPlotProps {
  line: Timeline;
  /** Names of the metrics. */
  x: string;
  y: string;
  /** The place in the timeline below the pointer. */
  place: number | null;
}

interface Spot {
  x: number;
  y: number;
}

/** Steps of the color from the first to the last moment. */
const COLORS = 24;

/** One point for each interval, at its averages. One unit is equally long on both axes. */
export default function PathPlot({ line, x, y, place }: PathPlotProps) {
  const spots = valuesOf(line, (point) => {
    // Samples beyond the period only tell the state at its start.
    const at = Date.parse(point.at);
    if (at < line.from || at > line.to) return null;
    const [right, up] = [metricOf(point, x), metricOf(point, y)];
    return right && up ? { x: right.avg, y: up.avg } : null;
  });
  const found = spots.filter((spot) => spot != null);
  const [xs, ys] = [found.map((spot) => spot.x), found.map((spot) => spot.y)];
  const [left, low] = [Math.min(...xs), Math.min(...ys)];
  const [right, high] = [Math.max(...xs), Math.max(...ys)];
  if (found.length === 0)
    return (
      <p className="hint">
        No sample has both {x} and {y}.
      </p>
    );
  const margin = Math.max(right - left, high - low) / 30 || 1;
  const size = `${right - left + 2 * margin} ${high - low + 2 * margin}`;
  const pointed = place === null ? null : spots[place];
  const label = `${x} from ${numberText(left)} to ${numberText(right)}, ${y} from ${numberText(low)} to ${numberText(high)}`;
  return (
    <figure className="series">
      <figcaption>
        <span className="card-title">Path</span>
        <span className="series-summary">{label}</span>
      </figcaption>
      <svg
        className="path-plot"
        viewBox={`${left - margin} ${-high - margin} ${size}`}
        role="img"
        aria-label={`Path: ${label}`}
      >
        {partsOf(spots).map(({ from, part }) => (
          <polyline
            key={from}
            points={part.map((spot) => `${spot.x} ${-spot.y}`).join()}
            style={{ stroke: colorOf(from / spots.length) }}
          />
        ))}
        {pointed && <circle cx={pointed.x} cy={-pointed.y} r={margin / 3} />}
      </svg>
      <div className="path-scale" aria-hidden>
        <span>{dateAndTime(line.at[0] ?? line.from)}</span>
        <i />
        <span>{dateAndTime(line.at.at(-1) ?? line.to)}</span>
      </div>
    </figure>
  );
}

/** Parts of one color. Each ends where the next one begins, unless there is a gap. */
function partsOf(spots: readonly (Spot | null | undefined)[]): { from: number; part: Spot[] }[] {
  const parts: { from: number; part: Spot[] }[] = [];
  const length = Math.max(1, Math.ceil(spots.length / COLORS));
  let last: Spot | null = null;
  spots.forEach((spot, i) => {
    if (spot === null) last = null;
    if (!spot) return;
    const current = parts.at(-1);
    if (last !== null && current && i - current.from < length) current.part.push(spot);
    else parts.push({ from: i, part: last === null ? [spot, spot] : [last, spot] });
    last = spot;
  });
  return parts;
}

const colorOf = (share: number) =>
  `color-mix(in oklab, var(--warn-bar) ${Math.round(share * 100)}%, var(--busy-bar))`;
