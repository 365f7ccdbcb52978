// Badges for the states of anchors and robots.
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

/** Names of the states for people. */
export const stateNames: Record<AnchorState, string> = {
  queued: 'queued',
  submitted: 'submitted',
  included: 'included',
  finalized: 'finalized',
  reorged: 'reorganized',
  failed: 'failed',
};

/** The state of a task's anchor. */
export function AnchorBadge({ anchor }: { anchor: Pick<Anchor, 'state'> | null }) {
  if (anchor === null) return <Badge tone="plain">no proof yet</Badge>;
  return <Badge tone={anchorTones[anchor.state]}>{stateNames[anchor.state]}</Badge>;
}

/** The states named in docs/agent.md; any other is shown unchanged, in the plain tone. */
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

/** The style sheet's color for a state in a chart. */
export function stateColor(state: string): string {
  const tone = robotTones[state] ?? 'plain';
  return tone === 'plain' ? 'plain-bar' : `${tone}-bar`;
}
