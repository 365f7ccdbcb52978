// The report of a period: utilization, errors by type, tasks and cost.
import { Group } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Report as Reported } from '../../../protocol/telemetry.ts';
import { sharesOf } from '../../charts/shares.ts';
import { chainQuery, fleetsQuery, reading } from '../../queries.ts';
import { stateColor } from '../../ui/badge.tsx';
import { Card, Fact } from '../../ui/card.tsx';
import { CsvButton } from '../../ui/csv-button.tsx';
import { cost } from '../../ui/ether.ts';
import { AddressChoice, useSearchParam } from '../../ui/fields.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useTenSeconds } from '../../ui/time.tsx';
import { counted } from '../../ui/values.tsx';
import { listOf } from './figures.tsx';
import './report.css';

const periods = [
  { value: '', label: 'Last 7 days', days: 7 },
  { value: '24h', label: 'Last 24 hours', days: 1 },
  { value: '30d', label: 'Last 30 days', days: 30 },
];

const HOUR_MS = 3_600_000;

/** Error types that are shown. */
const SHOWN = 10;

/** Whole hours up to the end of the current one, as the service sums up. */
export function Report({ fleetId }: { fleetId: string }) {
  const [chosen] = useSearchParam('period');
  const { days } = periods.find(({ value }) => value === chosen) ?? { days: 7 };
  const to = (Math.floor(useTenSeconds() / HOUR_MS) + 1) * HOUR_MS;
  const period = {
    from: new Date(to - days * 24 * HOUR_MS).toISOString(),
    to: new Date(to).toISOString(),
  };
  const query = { ...period, ...(fleetId !== '' && { fleet_id: fleetId }) };
  const report = useQuery({
    ...reading(['report', query], 'GET /api/v1/report', { query }),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
  });
  return (
    <Card
      title="Report"
      actions={
        <Group gap="xs">
          <AddressChoice name="period" aria-label="Period" options={periods} />
          <CsvButton path="/api/v1/report" query={query} name="report" />
        </Group>
      }
    >
      <Loaded query={report} what="report">
        {(data) => (
          <div className="stack">
            <Utilization report={data} />
            <dl className="facts">
              <Fact name="Errors">
                <Errors report={data} filter={period} fleetId={fleetId} />
              </Fact>
              <Fact name="Tasks claimed">
                <Tasks report={data} filter={period} fleetId={fleetId} />
              </Fact>
              <Cost report={data} />
            </dl>
          </div>
        )}
      </Loaded>
    </Card>
  );
}

type Robots = Reported['robots'];

/** Each fleet, and on request its robots. */
function Utilization({ report: { robots, hours } }: { report: Reported }) {
  const { data: fleets = [] } = useQuery(fleetsQuery);
  return (
    <section aria-label="Utilization">
      {[...fleets, { id: null, name: 'No fleet' }].map(({ id, name }) => (
        <Members
          key={id}
          name={name}
          robots={robots.filter(({ fleet_id }) => fleet_id === id)}
          hours={hours}
        />
      ))}
    </section>
  );
}

function Members({ name, robots, hours }: SharesProps) {
  const [isOpen, setOpen] = useState(false);
  if (robots.length === 0) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Shares
          name={`${name}, ${counted(robots.length, 'robot')}`}
          robots={robots}
          hours={hours}
        />
      </summary>
      {isOpen &&
        robots.map((robot) => (
          <Link key={robot.robot_id} href={`/robots/${robot.robot_id}`}>
            <Shares name={robot.name} robots={[robot]} hours={hours} />
          </Link>
        ))}
    </details>
  );
}

interface SharesProps {
  name: string;
  robots: Robots;
  /** Length of the period. */
  hours: number;
}

/** The bar is the whole period: the states divide the reported hours, and the rest stays hatched. */
function Shares({ name, robots, hours }: SharesProps) {
  const reported = sum(robots, ({ reported_hours }) => reported_hours);
  const states = new Map<string, number>();
  for (const [state, spent] of robots.flatMap(({ state_hours }) => Object.entries(state_hours))) {
    states.set(state, (states.get(state) ?? 0) + spent);
  }
  const rest = reported - sum([...states.values()], (spent) => spent);
  // The hours are rounded.
  if (rest > 0.01 * reported) states.set('', rest);
  const shares = sharesOf(Object.fromEntries(states));
  const all = hours * robots.length;
  return (
    <span className="utilization">
      <strong>{name}</strong>
      <span className="utilization-bar" aria-hidden>
        {shares.map(({ state, count }) => (
          <i
            key={state}
            data-state={state}
            style={{ flexGrow: count, background: `var(--${stateColor(state)})` }}
          />
        ))}
        <i style={{ flexGrow: all - reported }} />
      </span>
      <span>
        {shares.length === 0
          ? 'no telemetry'
          : `${shares.map(({ text }) => text).join(', ')} of the reported time`}
      </span>
      <span className="utilization-rest">
        {(all - reported).toLocaleString('en')} of {all.toLocaleString('en')} h not reported
      </span>
    </span>
  );
}

interface CountsProps {
  report: Reported;
  /** The period, as lists filter by it. */
  filter: Record<string, string>;
  fleetId: string;
}

function Errors({ report: { errors }, filter, fleetId }: CountsProps) {
  const list = { ...filter, severity: 'error' };
  return (
    <div className="chips">
      <Link href={listOf('/events', list, fleetId)}>{counted(errors.total, 'error')}</Link>
      {errors.by_type.slice(0, SHOWN).map(({ event_type, events }) => (
        <Link key={event_type} href={listOf('/events', { ...list, event_type }, fleetId)}>
          {event_type} {events.toLocaleString('en')}
        </Link>
      ))}
    </div>
  );
}

function Tasks({ report: { tasks }, filter, fleetId }: CountsProps) {
  return (
    <div className="chips">
      {tasks.map(({ status, outcome, tasks: count }) => (
        <Link key={`${status} ${outcome}`} href={listOf('/tasks', { ...filter, status }, fleetId)}>
          {status}
          {outcome && `, ${outcome}`} {count.toLocaleString('en')}
        </Link>
      ))}
      {tasks.length === 0 && <span>none</span>}
    </div>
  );
}

function Cost({ report }: { report: Reported }) {
  const { gas_wei, gas_wei_per_anchor, anchors } = report.cost;
  const { data: chain } = useQuery(chainQuery);
  const symbol = chain?.params.nativeCurrency.symbol ?? '';
  return (
    <Fact name="Cost">
      {cost(gas_wei)} {symbol} for {counted(anchors, 'anchored task')}
      {gas_wei_per_anchor && `, ${cost(gas_wei_per_anchor)} ${symbol} per task`}
    </Fact>
  );
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
