// A robot's telemetry: the period and its charts.
import { lazy, Suspense } from 'react';
import { Card } from '../../ui/card.tsx';
import { Empty, Loaded, Loading } from '../../ui/states.tsx';
import { useMarks } from './marks.ts';
import { usePeriod, useSeries } from './period.ts';
import { PeriodBar } from './period-bar.tsx';

const loadCharts = () => import('./charts.tsx');
const Charts = lazy(loadCharts);
// They load while the telemetry does.
loadCharts().catch(() => {});

export function Telemetry({ robotId }: { robotId: string }) {
  const [period, choose] = usePeriod();
  const series = useSeries(robotId, period);
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
              <Charts series={data} marks={marks} onZoom={(from, to) => choose({ from, to })} />
            </Suspense>
          )
        }
      </Loaded>
    </Card>
  );
}
