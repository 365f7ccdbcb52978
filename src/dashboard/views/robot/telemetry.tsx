// Charts of a robot's telemetry.
import { Checkbox, Group, SegmentedControl, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Series } from '../../../protocol/telemetry.ts';
import { ask } from '../../api.ts';
import { intervalsOf } from '../../charts/series.ts';
import { StateTimeline } from '../../charts/state-timeline.tsx';
import { TimeSeries } from '../../charts/time-series.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';

const HOUR_MS = 3_600_000;

const ranges = {
  '1 h': { ms: HOUR_MS, resolution: 'minute' },
  '6 h': { ms: 6 * HOUR_MS, resolution: 'minute' },
  '7 d': { ms: 7 * 24 * HOUR_MS, resolution: 'hour' },
  '30 d': { ms: 30 * 24 * HOUR_MS, resolution: 'hour' },
  '1 y': { ms: 365 * 24 * HOUR_MS, resolution: 'day' },
} as const;

type Range = keyof typeof ranges;

export function Telemetry({ robotId }: { robotId: string }) {
  const [range, setRange] = useState<Range>('1 h');
  const series = useQuery({
    queryKey: ['telemetry', robotId, range],
    queryFn: async ({ signal }) => {
      const { ms, resolution } = ranges[range];
      const to = Date.now();
      const query = {
        from: new Date(to - ms).toISOString(),
        to: new Date(to).toISOString(),
        resolution,
      };
      const params = { id: robotId };
      // With a resolution the answer is a series.
      return (await ask('GET /api/v1/robots/:id/telemetry', { params, query, signal })) as Series;
    },
    placeholderData: keepPreviousData,
  });
  return (
    <Card
      title="Telemetry"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Period"
          data={Object.keys(ranges)}
          value={range}
          onChange={(value) => setRange(value as Range)}
        />
      }
    >
      <Loaded query={series} what="telemetry">
        {(data) =>
          data.points.length === 0 ? (
            <Empty title="No telemetry in this period">
              The robot sent no telemetry, or its telemetry is older.
            </Empty>
          ) : (
            <Charts series={data} />
          )
        }
      </Loaded>
    </Card>
  );
}

const percent: [number, number] = [0, 100];

function Charts({ series }: { series: Series }) {
  const { at, points } = useMemo(() => intervalsOf(series), [series]);
  const names = useMemo(
    () => [...new Set(series.points.flatMap(({ metrics }) => Object.keys(metrics)))].sort(),
    [series],
  );
  const [chosen, setChosen] = useState<string[]>();
  const shown = chosen ?? names.slice(0, 2);
  const battery = useMemo(() => points.map((point) => point?.battery_pct ?? null), [points]);
  return (
    <div className="stack">
      <StateTimeline at={at} points={points} />
      <TimeSeries title="Battery" unit=" %" at={at} spreads={battery} range={percent} />
      {names.length > 0 && (
        <Checkbox.Group
          label="Metrics"
          value={shown}
          onChange={setChosen}
          description="Numeric metrics of the samples"
        >
          <Group gap="md" mt="xs">
            {names.map((name) => (
              <Checkbox key={name} value={name} label={name} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
      {shown
        .filter((name) => names.includes(name))
        .map((name) => (
          <Metric key={name} name={name} at={at} points={points} />
        ))}
      <Text size="xs" c="dimmed">
        The line is the average per {series.resolution}, the band its minimum and maximum. Gaps have
        no readings.
      </Text>
    </div>
  );
}

interface MetricProps {
  name: string;
  at: number[];
  points: ReturnType<typeof intervalsOf>['points'];
}

function Metric({ name, at, points }: MetricProps) {
  const spreads = useMemo(
    () => points.map((point) => point?.metrics[name] ?? null),
    [points, name],
  );
  return <TimeSeries title={name} at={at} spreads={spreads} />;
}
