// The charts of a robot's telemetry, and one readout for all of them.
import { Text } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { Axis } from '../../charts/axis.tsx';
import {
  metricOf,
  type ShownSeries,
  type Timeline,
  timelineOf,
  valuesOf,
} from '../../charts/series.ts';
import { StateTimeline } from '../../charts/state-timeline.tsx';
import { type Mark, numberText, TimeSeries } from '../../charts/time-series.tsx';
import { useSearchParam } from '../../ui/fields.tsx';
import { Loading } from '../../ui/states.tsx';
import { dateAndTime } from '../../ui/time.tsx';
import { MetricChoice, useMetrics } from './metrics.tsx';

const PathPlot = lazy(() => import('../../charts/path-plot.tsx'));

interface ChartsProps {
  series: ShownSeries;
  marks: readonly Mark[];
  onZoom: (from: number, to: number) => void;
  /** More on the same axis, below the states. */
  children?: ReactNode;
}

/** Metrics that are a path without being chosen. */
const PATHS = [
  ['x', 'y'],
  ['x_m', 'y_m'],
] as const;

export default function Charts({ series, marks, onZoom, children }: ChartsProps) {
  const line = useMemo(() => timelineOf(series, Date.now()), [series]);
  const names = useMemo(
    () => [...new Set(series.points.flatMap(({ metrics }) => Object.keys(metrics)))].sort(),
    [series],
  );
  const [shown, setShown] = useMetrics(names);
  const [chosenX] = useSearchParam('x');
  const [chosenY] = useSearchParam('y');
  const usual = PATHS.find((path) => path.every((name) => names.includes(name)));
  const [x, y] = [chosenX || usual?.[0], chosenY || usual?.[1]];
  const charts = useMemo(
    () => [
      {
        title: 'Battery',
        unit: ' %',
        range: [0, 100] as [number, number],
        spreads: valuesOf(line, ({ battery_pct }) => battery_pct),
      },
      ...shown.map((name) => ({
        title: name,
        spreads: valuesOf(line, (point) => metricOf(point, name)),
      })),
    ],
    [line, shown],
  );
  const period = useMemo((): [number, number] => [line.from, line.to], [line]);
  const [cursor, setCursor] = useState<number | null>(null);
  const at = cursor === null ? -1 : line.at.indexOf(cursor);
  const place = at === -1 ? null : at;
  return (
    <div className="stack">
      <Axis
        line={line}
        cursor={cursor}
        readout={readoutOf(line, charts, cursor)}
        onPoint={setCursor}
        onZoom={onZoom}
      >
        <StateTimeline line={line} marks={marks} />
        {children}
        {series.points.length > 0 &&
          charts.map((chart) => (
            <TimeSeries key={chart.title} {...chart} at={line.at} period={period} marks={marks} />
          ))}
      </Axis>
      {names.length > 0 && <MetricChoice names={names} shown={shown} onChange={setShown} />}
      {x && y && names.includes(x) && names.includes(y) && (
        <Suspense fallback={<Loading what="path" rows={1} />}>
          <PathPlot line={line} x={x} y={y} place={place} />
        </Suspense>
      )}
      <Text size="xs" c="dimmed">
        {series.resolution === 'sample'
          ? 'Each point is a sample.'
          : `The line is the average per ${series.resolution}, the band its minimum and maximum.`}{' '}
        The line ends where samples are missing for more than 3 times the usual interval.
      </Text>
    </div>
  );
}

interface Shown {
  title: string;
  unit?: string;
  spreads: ReturnType<typeof valuesOf<{ avg: number }>>;
}

/** The values of all charts at the cursor. */
function readoutOf({ at, points }: Timeline, charts: readonly Shown[], cursor: number | null) {
  if (cursor === null) {
    return 'Point at a chart, or tap it, to read all values. Drag across it with a mouse to zoom in.';
  }
  const place = at.indexOf(cursor);
  const point = points[place];
  if (!point) return `${dateAndTime(cursor)}: no telemetry`;
  const values = charts.flatMap(({ title, unit = '', spreads }) => {
    const spread = spreads[place];
    return spread ? [`${title} ${numberText(spread.avg)}${unit}`] : [];
  });
  return `${dateAndTime(cursor)}: ${[...Object.keys(point.states), ...values].join(' · ')}`;
}
