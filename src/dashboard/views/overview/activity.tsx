// Charts of the last hours and days.
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Stats } from '../../../protocol/telemetry.ts';
import { Bars, type BarsProps } from '../../charts/bars.tsx';
import { Card } from '../../ui/card.tsx';
import { formatTime } from '../../ui/time-zone.ts';
import { listOf } from './figures.tsx';

/** Activity by hour, and by day in UTC, as the service counts. */
export function Activity({ stats, fleetId }: { stats: Stats; fleetId: string }) {
  const anchors = stats.anchors_by_day.reduce((total, day) => total + day.anchors, 0);
  return (
    <div className="charts">
      <Card title="Battery" actions={<Text c="dimmed">{stats.battery.unknown} unknown</Text>}>
        <BatteryLevels stats={stats} fleetId={fleetId} />
      </Card>
      <BarChart
        title="Events by severity"
        note={<Link href={listOf('/events', {}, fleetId)}>24 hours</Link>}
        caption="Events by hour and severity"
        series={[
          { name: 'info', color: 'info-bar' },
          { name: 'warn', color: 'warn-bar' },
          { name: 'error', color: 'bad-bar' },
        ]}
        bars={stats.events_by_hour.map(({ at, info, warn, error }) => ({
          label: hour(at),
          values: [info, warn, error],
          href: listOf('/events', { from: at, to: after(at) }, fleetId),
        }))}
      />
      <BarChart
        title="Telemetry samples"
        note="24 hours"
        caption="Telemetry samples by hour"
        series={[{ name: 'samples', color: 'busy-bar' }]}
        bars={stats.samples_by_hour.map(({ at, samples }) => ({
          label: hour(at),
          values: [samples],
        }))}
      />
      <BarChart
        title="Anchors"
        note={
          <Link href={listOf('/tasks', { status: 'verified' }, fleetId)}>
            {anchors.toLocaleString('en')} in 30 days
          </Link>
        }
        caption="Anchored proofs by day"
        series={[{ name: 'anchors', color: 'good-bar' }]}
        bars={stats.anchors_by_day.map((day) => ({ label: day.day, values: [day.anchors] }))}
      />
    </div>
  );
}

/** Robots by battery level. Each bar links to its robots. */
function BatteryLevels({ stats: { battery }, fleetId }: { stats: Stats; fleetId: string }) {
  const most = Math.max(1, ...battery.buckets);
  return (
    <ul className="levels" aria-label="Robots by battery level">
      {battery.buckets.map((robots, ten) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the ten levels keep their places
        <li key={ten}>
          <Link href={listOf('/robots', { battery: String(ten) }, fleetId)}>
            <span>
              {ten * 10}–{ten * 10 + 10} %
            </span>
            <span className="level" aria-hidden>
              <span style={{ width: `${(robots / most) * 100}%` }} />
            </span>
            {robots}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function BarChart({ title, note, ...bars }: { title: string; note: ReactNode } & BarsProps) {
  return (
    <Card title={title} actions={<Text c="dimmed">{note}</Text>}>
      <Bars {...bars} />
    </Card>
  );
}

/** `14:00 CET` */
const hour = (at: string) =>
  formatTime(at, { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });

/** The end of the hour that begins at `at`. */
const after = (at: string) => new Date(Date.parse(at) + 3_600_000).toISOString();
