// Current figures: robots, batteries, tasks, credits.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Stats } from '../../../protocol/telemetry.ts';
import { type Account, chainQuery } from '../../queries.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { CreditState } from '../../ui/credit.tsx';
import { ether } from '../../ui/ether.ts';

export interface FiguresProps {
  stats: Stats;
  /** The fleet of the figures; `''` for all robots. */
  fleetId: string;
  credits: Account['credits'] | undefined;
}

/** The address of a list that is filtered, also by the fleet that the overview shows. */
export function listOf(path: string, filter: Record<string, string>, fleetId: string): string {
  return `${path}?${new URLSearchParams({ ...filter, ...(fleetId !== '' && { fleet: fleetId }) })}`;
}

export function Figures({ stats, fleetId, credits }: FiguresProps) {
  const { robots, tasks } = stats;
  const states = Object.entries(robots.by_state).sort(([, a], [, b]) => b - a);
  return (
    <div className="grid">
      <Figure title="Robots online" value={`${robots.online}`} unit={`of ${robots.total}`}>
        <div className="chips">
          {states.map(([state, count]) => (
            <Link key={state} href={listOf('/robots', { state }, fleetId)}>
              <StateBadge state={state} /> {count}
            </Link>
          ))}
          {robots.without_state > 0 && (
            <Link href={listOf('/robots', { state: 'none' }, fleetId)}>
              {robots.without_state} without a state
            </Link>
          )}
        </div>
      </Figure>
      <Figure title="Tasks" value={tasks.verified.toLocaleString('en')} unit="verified">
        <Link href={listOf('/tasks', { status: 'claimed' }, fleetId)} className="quiet">
          {tasks.claimed.toLocaleString('en')} claimed, not anchored yet
        </Link>
      </Figure>
      {credits && <Credits credits={credits} />}
    </div>
  );
}

function Credits({ credits }: { credits: Account['credits'] }) {
  const { data: chain } = useQuery(chainQuery);
  const { anchor_quota, gas_credit_wei, anchors_affordable } = credits;
  return (
    <Figure title="Anchors left" value={(anchors_affordable ?? anchor_quota).toLocaleString('en')}>
      <CreditState credits={credits} />
      <Text c="dimmed">
        {anchors_affordable === null ? 'current fees unknown' : 'at current fees'} ·{' '}
        {ether(gas_credit_wei)} {chain?.params.nativeCurrency.symbol} of gas
      </Text>
    </Figure>
  );
}

interface FigureProps {
  title: string;
  value: string;
  unit?: string;
  children?: ReactNode;
}

function Figure({ title, value, unit, children }: FigureProps) {
  return (
    <Card title={title}>
      <div className="figure">
        {value} {unit && <span className="figure-unit">{unit}</span>}
      </div>
      {children}
    </Card>
  );
}
