// The time axis of a task: claim and completion by all clocks, states, battery, metrics, events and path.
import { Button, Text } from '@mantine/core';
import { lazy, Suspense, useMemo } from 'react';
import { Link } from 'wouter';
import type { Mark } from '../../charts/time-series.tsx';
import { Card } from '../../ui/card.tsx';
import { Loaded, Loading } from '../../ui/states.tsx';
import { dateAndTime, duration, useTenSeconds } from '../../ui/time.tsx';
import { useMarks } from '../robot/marks.ts';
import { LONGEST_MS, usePeriod, useSeries } from '../robot/period.ts';
import { lateness, type Moment, timesOf, wholeOf } from './moments.ts';

const loadCharts = () => import('../robot/charts.tsx');
const Charts = lazy(loadCharts);
// They load while the telemetry does.
loadCharts().catch(() => {});

interface TimelineProps {
  robotId: string;
  moments: readonly Moment[];
}

const MINUTE_MS = 60_000;
const EVENTS_SHOWN = 10;

export function Timeline({ robotId, moments }: TimelineProps) {
  const nextMinute = (Math.floor(useTenSeconds() / MINUTE_MS) + 1) * MINUTE_MS;
  // An open task ends now, which moves each minute.
  const whole = wholeOf(moments, nextMinute, 0.99 * LONGEST_MS);
  const [period, choose] = usePeriod(whole);
  const { from, to } = period;
  const isZoomed = from !== whole.from || to !== whole.to;
  const series = useSeries(robotId, period);
  const found = useMarks(robotId, period);
  const events = useMemo(() => found.filter(({ href }) => !href.startsWith('/tasks/')), [found]);
  const marks = useMemo(() => {
    const own = moments.flatMap(({ name, robot, service, block }): Mark[] => [
      ...markOf(name, robot ?? service, 'good-bar'),
      ...markOf('Block', block, 'other-bar'),
    ]);
    return [...own, ...events].filter(({ at }) => at >= from && at <= to);
  }, [moments, events, from, to]);
  return (
    <Card
      title="Timeline"
      actions={
        isZoomed && (
          <Button size="xs" onClick={() => choose(null)}>
            Show the whole task
          </Button>
        )
      }
    >
      <dl className="facts moments">
        {moments.map((moment) => (
          <Times key={moment.name} moment={moment} />
        ))}
      </dl>
      <Loaded query={series} what="telemetry">
        {(data) => (
          <Suspense fallback={<Loading what="charts" />}>
            {data.points.length === 0 && (
              <Text mb="sm">
                No telemetry in this period. The robot sent none, or the service no longer keeps it.
              </Text>
            )}
            <Charts series={data} marks={marks} onZoom={(a, b) => choose({ from: a, to: b })}>
              <Clocks moments={moments} from={Date.parse(data.from)} to={Date.parse(data.to)} />
            </Charts>
          </Suspense>
        )}
      </Loaded>
      {events.length > 0 && (
        <ul className="timeline-events" aria-label="Events of this period">
          {events
            .toSorted((a, b) => a.at - b.at)
            .slice(0, EVENTS_SHOWN)
            .map(({ at, label, color, href }) => (
              <li key={`${at} ${label}`}>
                <i style={{ background: `var(--${color})` }} />
                <time>{dateAndTime(at)}</time> <Link href={href}>{label}</Link>
              </li>
            ))}
        </ul>
      )}
    </Card>
  );
}

const markOf = (label: string, at: number | null, color: string): Mark[] =>
  at === null ? [] : [{ at, label, color, href: '#timeline' }];

/** The times of a moment by each clock, in one zone. */
function Times({ moment }: { moment: Moment }) {
  const { name, robot, service, block } = moment;
  const late = lateness(moment);
  const clocks = { 'robot clock': robot, service, block };
  const known = Object.entries(clocks).filter(([, at]) => at !== null);
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {known.length === 0 && 'Not yet'}
        {known.map(([clock, at]) => (
          <span key={clock} className="clock" data-clock={clock}>
            <i aria-hidden />
            {dateAndTime(at ?? 0)} <small>{clock}</small>
          </span>
        ))}
        {late !== null && (
          <span className="late">
            {late > 0
              ? `Received ${duration(late)} later, or the robot clock was behind`
              : `The robot clock was ${duration(-late)} ahead`}
          </span>
        )}
      </dd>
    </>
  );
}

interface ClocksProps {
  moments: readonly Moment[];
  from: number;
  to: number;
}

/** A row per moment: from the robot's time to the service's and the block's. */
function Clocks({ moments, from, to }: ClocksProps) {
  const place = (at: number) => `${((at - from) / (to - from)) * 100}%`;
  return (
    <figure className="series" id="timeline">
      <figcaption>
        <span className="card-title">Claim and completion</span>
      </figcaption>
      {moments.map((moment) => {
        const times = timesOf(moment);
        const [first, last] = [Math.min(...times), Math.max(...times)];
        const { name, robot, service, block } = moment;
        const isLate = lateness(moment) !== null;
        return (
          <div key={name} className="clocks" aria-hidden>
            {times.length > 1 && (
              <b
                data-late={isLate || undefined}
                style={{ left: place(first), width: `${((last - first) / (to - from)) * 100}%` }}
              />
            )}
            {Object.entries({ 'robot clock': robot, service, block }).map(
              ([clock, at]) =>
                at !== null && (
                  <i
                    key={clock}
                    data-clock={clock}
                    title={`${name}, ${clock}: ${dateAndTime(at)}`}
                    style={{ left: place(at) }}
                  />
                ),
            )}
          </div>
        );
      })}
    </figure>
  );
}
