// A robot's telemetry: the period and its charts.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Series } from '../../../protocol/telemetry.ts';
import { ask } from '../../api.ts';
import { STEP_MS } from '../../charts/series.ts';
import { Card } from '../../ui/card.tsx';
import { Empty, Loaded, Loading } from '../../ui/states.tsx';
import { useMarks } from './marks.ts';
import { partsOf, resolutionOf, usePeriod } from './period.ts';
import { PeriodBar } from './period-bar.tsx';

const loadCharts = () => import('./charts.tsx');
const Charts = lazy(loadCharts);
// They load while the telemetry does.
loadCharts().catch(() => {});

const CALL = 'GET /api/v1/robots/:id/telemetry';

export function Telemetry({ robotId }: { robotId: string }) {
  const [period, choose] = usePeriod();
  const series = useQuery({
    queryKey: ['telemetry', robotId, period.from, period.to],
    queryFn: async ({ signal }): Promise<Series> => {
      const resolution = resolutionOf(period);
      const params = { id: robotId };
      const parts = await Promise.all(
        partsOf(period).map((part) =>
          ask(CALL, { params, query: { ...part, resolution }, signal }),
        ),
      );
      // With a resolution the answer is a series.
      const points = (parts as Series[]).flatMap((part) => part.points);
      const [from = '', to = ''] = [period.from, period.to].map((at) => new Date(at).toISOString());
      return { resolution, from, to, points };
    },
    placeholderData: keepPreviousData,
  });
  const marks = useMarks(robotId, period);
  return (
    <Card title="Telemetry">
      <PeriodBar robotId={robotId} period={period} onChoose={choose} />
      <Loaded query={series} what="telemetry">
        {(data) =>
          data.points.length === 0 ? (
            <Empty title="No telemetry in this period">
              The robot sent no telemetry, or its telemetry is older.
            </Empty>
          ) : (
            <Suspense fallback={<Loading what="charts" />}>
              <Charts
                series={data}
                marks={marks}
                onZoom={(from, to) => choose({ from, to: Math.max(to, from + STEP_MS.minute) })}
              />
            </Suspense>
          )
        }
      </Loaded>
    </Card>
  );
}
