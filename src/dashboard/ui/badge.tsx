// Badges for the states of anchors and robots, and the state of a robot that is shown.
import type { ReactNode } from 'react';
import type { limits } from '../../protocol/limits.ts';
import type { Anchor, AnchorState, Robot } from '../../protocol/resources.ts';
import { Ago, duration, useTenSeconds } from './time.tsx';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain' | 'other';

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

interface AnchorBadgeProps {
  anchor: Pick<Anchor, 'state'> | null;
  /** When a completion was refused for lack of credit. */
  refusedAt?: string | null;
}

/** The state of a task's anchor. */
export function AnchorBadge({ anchor, refusedAt = null }: AnchorBadgeProps) {
  if (anchor === null && refusedAt !== null) return <Badge tone="bad">no credit</Badge>;
  if (anchor === null) return <Badge tone="plain">no proof yet</Badge>;
  return <Badge tone={anchorTones[anchor.state]}>{stateNames[anchor.state]}</Badge>;
}

/** The states that docs/robots.md names; any other is shown unchanged, in a tone of its own. */
const robotTones = new Map<string, Tone>([
  ['idle', 'plain'],
  ['busy', 'busy'],
  ['error', 'bad'],
  ['charging', 'good'],
  ['offline', 'warn'],
]);

/** The gravest first; states that a robot made up come between. */
const order = ['error', 'offline', 'charging', 'busy', null, 'idle'];

/** Place of a state in the order in which a person looks. */
export function rankOf(state: string): number {
  const place = order.indexOf(state);
  return place === -1 ? order.indexOf(null) : place;
}

export function StateBadge({ state }: { state: string }) {
  return <Badge tone={robotTones.get(state) ?? 'other'}>{state}</Badge>;
}

const ONLINE_MS: typeof limits.onlineMs = 300_000;

/** The state that is shown: that of the newest sample, or `offline` for a robot that was not seen for 5 minutes. */
export function stateOf(
  { state, last_seen_at }: Pick<Robot, 'state' | 'last_seen_at'>,
  now: number,
): string | null {
  const isOffline = last_seen_at !== null && now - Date.parse(last_seen_at) >= ONLINE_MS;
  return isOffline ? 'offline' : state;
}

/** The badge of a robot, with how old its state is if it is not current. It turns to `offline` by itself. */
export function RobotBadge({ robot }: { robot: Robot }) {
  const now = useTenSeconds();
  const state = stateOf(robot, now);
  const { state_at: at, clock_behind_s: behind } = robot;
  if (state === null) return <span className="dash">–</span>;
  return (
    <>
      <StateBadge state={state} />
      {state === robot.state && at !== null && now - Date.parse(at) >= ONLINE_MS && (
        <div className="late">reported {<Ago at={at} />}</div>
      )}
      {behind !== null && <div className="late">clock {duration(behind * 1000)} behind</div>}
    </>
  );
}

/** The style sheet's color for a state in a chart. */
export function stateColor(state: string): string {
  return `${robotTones.get(state) ?? 'other'}-bar`;
}
