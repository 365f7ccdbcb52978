// The charts of a robot's telemetry, and one readout for all of them.
import { Text } from '@mantine/core';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { Series } from '../../../protocol/telemetry.ts';
import { type Timeline, timelineOf, valuesOf } from '../../charts/series.ts';
import { StateTimeline } from '../../charts/state-timeline.tsx';
import { type Mark, numberText, TimeSeries } from '../../charts/time-series.tsx';
import { useSearchParam } from '../../ui/fields.tsx';
import { Loading } from '../../ui/states.tsx';
import { dateAndTime } from '../../ui/time.tsx';
import { MetricChoice, useMetrics } from './metrics.tsx';

const PathPlot = lazy(() => import('../../charts/path-plot.tsx'));

interface ChartsProps {
  series: Series;
  marks: readonly Mark[];
  onZoom: (from: number, to: number) => void;
}

export default function Charts({ series, marks, onZoom }: ChartsProps) {
  const line = useMemo(() => timelineOf(series, Date.now()), [series]);
  const names = useMemo(
    () => [...new Set(series.points.flatMap(({ metrics }) => Object.keys(metrics)))].sort(),
    [series],
  );
  const [shown, setShown] = useMetrics(names);
  const [x] = useSearchParam('x');
  const [y] = useSearchParam('y');
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
        spreads: valuesOf(line, ({ metrics }) => metrics[name]),
      })),
    ],
    [line, shown],
  );
  const period = useMemo((): [number, number] => [line.from, line.to], [line]);
  const [place, setPlace] = useState<number | null>(null);
  return (
    <div className="stack">
      <p className="readout">{readoutOf(line, charts, place)}</p>
      <StateTimeline line={line} marks={marks} />
      {charts.map((chart) => (
        <TimeSeries
          key={chart.title}
          {...chart}
          at={line.at}
          period={period}
          marks={marks}
          onPoint={setPlace}
          onZoom={onZoom}
        />
      ))}
      {names.length > 0 && <MetricChoice names={names} shown={shown} onChange={setShown} />}
      {names.includes(x) && names.includes(y) && (
        <Suspense fallback={<Loading what="path" rows={1} />}>
          <PathPlot line={line} x={x} y={y} place={place} />
        </Suspense>
      )}
      <Text size="xs" c="dimmed">
        The line is the average per {series.resolution}, the band its minimum and maximum. The line
        ends where samples are missing for more than 3 times the usual interval.
      </Text>
    </div>
  );
}

interface Shown {
  title: string;
  unit?: string;
  spreads: ReturnType<typeof valuesOf<{ avg: number }>>;
}

/** The values of all charts at one place. */
function readoutOf({ at, points }: Timeline, charts: readonly Shown[], place: number | null) {
  const moment = place === null ? undefined : at[place];
  if (place === null || moment === undefined) {
    return 'Point at a chart to read all values. Drag across a chart to zoom in.';
  }
  const point = points[place];
  if (!point) return `${dateAndTime(moment)}: no telemetry`;
  const values = charts.flatMap(({ title, unit = '', spreads }) => {
    const spread = spreads[place];
    return spread ? [`${title} ${numberText(spread.avg)}${unit}`] : [];
  });
  return `${dateAndTime(moment)}: ${[...Object.keys(point.states), ...values].join(' · ')}`;
}
