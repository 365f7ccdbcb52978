// What needs attention, derived from alerts, robots, tasks and credits.
import type { Alert } from '../../../protocol/alerts.ts';
import type { Robot, TaskListItem } from '../../../protocol/resources.ts';
import type { Account } from '../../queries.ts';
import { stateOf, type Tone } from '../../ui/badge.tsx';
import { kinds } from '../alerts/kinds.ts';

export interface Problem {
  key: string;
  tone: Tone;
  title: string;
  robotId: string | null;
  /** ISO timestamp; null if it is not known. */
  since: string | null;
  /** Where to look. */
  href: string;
  /** The open alert, if a rule found it. */
  alert?: Alert | undefined;
}

interface Sources {
  robots: readonly Robot[];
  alerts: readonly Alert[];
  /** Claimed tasks whose anchors failed, wait for a block, were reorganized out, or were refused for lack of credit. */
  tasks: readonly TaskListItem[];
  credits: Account['credits'] | undefined;
  now: number;
}

/** A transaction that waits for its block longer than this, in ms, counts as stuck. */
const STUCK_MS = 10 * 60_000;

/** The problems, gravest and newest first. A problem that an alert reports is not repeated. */
export function problemsOf({ robots, alerts, tasks, credits, now }: Sources): Problem[] {
  const found = [
    // More exact than the title of its alert.
    ...(credits ? ofCredits(credits) : []),
    ...alerts.map(ofAlert),
    ...robots.flatMap((robot) => ofRobot(robot, now)),
    ...tasks.flatMap((task) => ofTask(task, now)),
  ];
  const byKey = new Map<string, Problem>();
  for (const problem of found) {
    const same = byKey.get(problem.key);
    const { alert, since } = problem;
    byKey.set(
      problem.key,
      same === undefined ? problem : { alert, ...same, since: same.since ?? since },
    );
  }
  const rank = ({ tone }: Problem) => (tone === 'bad' ? 0 : 1);
  return [...byKey.values()].sort(
    (a, b) => rank(a) - rank(b) || (b.since ?? '').localeCompare(a.since ?? ''),
  );
}

function ofAlert(alert: Alert): Problem {
  const { kind, robot_id: robotId } = alert;
  return {
    key: `${kind} ${robotId}`,
    tone: kind === 'battery_low' || kind === 'robot_offline' ? 'warn' : 'bad',
    title: kinds[kind].title,
    robotId,
    since: alert.opened_at,
    href: robotId === null ? '/alerts' : `/robots/${robotId}`,
    alert,
  };
}

function ofRobot(robot: Robot, now: number): Problem[] {
  const { id, battery_pct: percent, battery_low_since: lowSince, last_seen_at: seen } = robot;
  const state = stateOf(robot, now);
  const problem = (kind: string, tone: Tone, title: string, since: string | null): Problem => ({
    key: `${kind} ${id}`,
    tone,
    title,
    robotId: id,
    since,
    href: `/robots/${id}`,
  });
  if (state === 'offline') {
    const since = robot.state === state ? robot.state_since : seen;
    return [problem('robot_offline', 'warn', 'Robot offline', since)];
  }
  const found: Problem[] = [];
  if (state === 'error') {
    found.push(problem('error', 'bad', 'Robot reports an error', robot.state_since));
  }
  if (percent !== null && lowSince !== null && state !== 'charging') {
    found.push(problem('battery_low', 'warn', `Battery at ${Math.round(percent)} %`, lowSince));
  }
  return found;
}

function ofTask(task: TaskListItem, now: number): Problem[] {
  const { id, robot_id: robotId, anchor, credit_refused_at: refusedAt } = task;
  const problem = (kind: string, title: string, since: string): Problem[] => [
    { key: `${kind} ${robotId}`, tone: 'bad', title, robotId, since, href: `/tasks/${id}` },
  ];
  if (anchor === null) {
    return refusedAt === null ? [] : problem('refused', 'Proof refused: no credit', refusedAt);
  }
  const { state, updated_at: since } = anchor;
  if (state === 'failed') return problem('anchor_failed', 'Anchor failed', since);
  if (state === 'reorged') return problem('anchor_stuck', 'Anchor reorganized out', since);
  return now - Date.parse(since) < STUCK_MS ? [] : problem('anchor_stuck', 'Anchor stuck', since);
}

function ofCredits(credits: Account['credits']): Problem[] {
  const { anchor_quota, anchors_affordable, low, refused } = credits;
  if (!low) return [];
  const isExhausted = (anchors_affordable ?? anchor_quota) === 0;
  const shared = { key: 'credit_low null', robotId: null, since: refused.since, href: '/account' };
  return isExhausted
    ? [{ ...shared, tone: 'bad', title: 'Credits exhausted' }]
    : [{ ...shared, tone: 'warn', title: 'Credits running low' }];
}
