// Charts of the last hours and days.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Stats } from '../../../protocol/telemetry.ts';
import { Bars } from '../../charts/bars.tsx';
import { chainQuery } from '../../queries.ts';
import { ether } from '../../ui/ether.ts';
import './overview.css';

/** Activity by hour and by day in UTC, as the service counts. */
export function Activity({ stats }: { stats: Stats }) {
  const { data: chain } = useQuery(chainQuery);
  const symbol = chain?.params.nativeCurrency.symbol ?? '';
  const anchors = stats.anchors_by_day.reduce((total, day) => total + day.anchors, 0);
  const gas = stats.anchors_by_day.reduce((total, day) => total + BigInt(day.gas_wei), 0n);
  return (
    <div className="charts">
      <Chart title="Battery" note={`${stats.battery.unknown} unknown`}>
        <Bars
          caption="Robots by battery level"
          series={[{ name: 'robots', color: 'busy-bar' }]}
          bars={stats.battery.buckets.map((robots, ten) => ({
            label: `${ten * 10}–${ten * 10 + 10} %`,
            values: [robots],
          }))}
        />
      </Chart>
      <Chart title="Events by severity" note="24 hours">
        <Bars
          caption="Events by hour and severity"
          series={[
            { name: 'info', color: 'info-bar' },
            { name: 'warn', color: 'warn-bar' },
            { name: 'error', color: 'bad-bar' },
          ]}
          bars={stats.events_by_hour.map(({ at, info, warn, error }) => ({
            label: hour(at),
            values: [info, warn, error],
          }))}
        />
      </Chart>
      <Chart title="Telemetry samples" note="24 hours">
        <Bars
          caption="Telemetry samples by hour"
          series={[{ name: 'samples', color: 'busy-bar' }]}
          bars={stats.samples_by_hour.map(({ at, samples }) => ({
            label: hour(at),
            values: [samples],
          }))}
        />
      </Chart>
      <Chart title="Anchors" note={`${anchors.toLocaleString('en')} in 30 days`}>
        <Bars
          caption="Anchored proofs by day"
          series={[{ name: 'anchors', color: 'good-bar' }]}
          bars={stats.anchors_by_day.map((day) => ({ label: day.day, values: [day.anchors] }))}
        />
      </Chart>
      <Chart title="Gas paid" note={`${ether(gas.toString())} ${symbol} in 30 days`}>
        <Bars
          caption="Gas paid for anchors by day, in gwei"
          series={[{ name: 'gwei', color: 'warn-bar' }]}
          bars={stats.anchors_by_day.map((day) => ({
            label: day.day,
            values: [Number(BigInt(day.gas_wei) / 1_000_000_000n)],
          }))}
          unit="gwei"
        />
      </Chart>
    </div>
  );
}

function Chart({ title, note, children }: { title: string; note: string; children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <div className="chart-head">
        <h2 className="card-title">{title}</h2>
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      </div>
      {children}
    </section>
  );
}

/** `14:00 UTC` */
const hour = (at: string) => `${at.slice(11, 16)} UTC`;
