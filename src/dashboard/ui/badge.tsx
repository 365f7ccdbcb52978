import type { ReactNode } from 'react';
import type { Anchor, AnchorState } from '../../protocol/resources.ts';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}

const anchorTones: Record<AnchorState, Tone> = {
  queued: 'plain',
  submitted: 'busy',
  included: 'busy',
  finalized: 'good',
  reorged: 'warn',
  failed: 'bad',
};

/** As people say it. */
export const stateNames: Record<AnchorState, string> = {
  queued: 'queued',
  submitted: 'submitted',
  included: 'included',
  finalized: 'finalized',
  reorged: 'reorganised',
  failed: 'failed',
};

/** How far the anchor of a task has come. */
export function AnchorBadge({ anchor }: { anchor: Pick<Anchor, 'state'> | null }) {
  if (anchor === null) return <Badge tone="plain">no proof yet</Badge>;
  return <Badge tone={anchorTones[anchor.state]}>{stateNames[anchor.state]}</Badge>;
}

/** The states that the interface specification names; any other is shown as it is. */
const robotTones: Record<string, Tone> = {
  idle: 'plain',
  busy: 'busy',
  error: 'bad',
  charging: 'good',
  offline: 'warn',
};

export function StateBadge({ state }: { state: string }) {
  return <Badge tone={robotTones[state] ?? 'plain'}>{state}</Badge>;
}

/** A colour of the style sheet for a state in a chart. */
export function stateColor(state: string): string {
  const tone = robotTones[state] ?? 'plain';
  return tone === 'plain' ? 'plain-bar' : `${tone}-bar`;
}
