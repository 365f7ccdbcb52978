// Groups the open alerts of an account into incidents, by kind and fleet.
import type { Alert, AlertKind } from '../../../protocol/alerts.ts';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import type { Tone } from '../../ui/badge.tsx';

export interface Incident {
  key: string;
  kind: AlertKind;
  tone: Tone;
  alerts: Alert[];
  isAcknowledged: boolean;
  /** What happens where: `16 offline in Graz Line 3`. */
  text: string;
  /** What the robots report: the message of the newest error, or the battery. */
  detail: string | null;
  /** ISO timestamp of the first. */
  since: string;
  /** Where to look. */
  href: string;
}

interface Sources {
  alerts: readonly Alert[];
  robots: readonly Robot[];
  fleets: readonly Fleet[];
  /** Robots of other fleets are left out; `''` for all. */
  fleetId: string;
}

/** The incidents: those without an acknowledgement first, then the gravest, then the newest. */
export function incidentsOf({ alerts, robots, fleets, fleetId }: Sources): Incident[] {
  const known = new Map(robots.map((robot) => [robot.id, robot]));
  const groups = new Map<string, Alert[]>();
  for (const alert of alerts) {
    const robot = known.get(alert.robot_id ?? '');
    if (alert.robot_id !== null && robot === undefined) continue;
    if (robot && fleetId !== '' && robot.fleet_id !== fleetId) continue;
    const key = `${alert.kind} ${robot?.fleet_id ?? ''} ${alert.acknowledged_at !== null}`;
    groups.set(key, [...(groups.get(key) ?? []), alert]);
  }
  const nameOf = new Map(fleets.map(({ id, name }) => [id, name]));
  const found = [...groups].map(([key, group]) => {
    const concerned = group.flatMap(({ robot_id }) => known.get(robot_id ?? '') ?? []);
    return incident(key, group, concerned, (id) => nameOf.get(id));
  });
  const rank = (one: Incident) => Number(one.isAcknowledged) * 2 + Number(one.tone !== 'bad');
  return found.sort((a, b) => rank(a) - rank(b) || b.since.localeCompare(a.since));
}

function incident(
  key: string,
  alerts: Alert[],
  robots: Robot[],
  fleetName: (id: string) => string | undefined,
): Incident {
  const [{ kind, acknowledged_at: acknowledgedAt } = {} as Alert] = alerts;
  const view = views[kind];
  const [first] = robots;
  const fleetId = first?.fleet_id ?? null;
  const fleet = fleetId && fleetName(fleetId);
  const who = robots.length === 1 ? first?.name : robots.length;
  const times = [...robots.map((robot) => view.since?.(robot) ?? null), ...alerts.map(openedAt)];
  const href = robots.length === 1 ? `/robots/${first?.id}` : view.list(first);
  return {
    key,
    kind,
    tone: view.tone ?? 'bad',
    alerts,
    isAcknowledged: acknowledgedAt !== null,
    text: first ? `${who} ${view.says(robots)}${fleet ? ` in ${fleet}` : ''}` : view.says(robots),
    detail: view.detail?.(robots) ?? null,
    since: times.filter((at) => at !== null).sort()[0] ?? '',
    href: fleetId && robots.length > 1 ? withFleet(href, fleetId) : href,
  };
}

const openedAt = ({ opened_at }: Alert) => opened_at;

const withFleet = (href: string, id: string) =>
  `${href}${href.includes('?') ? '&' : '?'}fleet=${id}`;

interface View {
  tone?: Tone;
  /** What the robots are, after their name or number. */
  says: (robots: Robot[]) => string;
  detail?: (robots: Robot[]) => string | null;
  /** When it began for one robot, if that is earlier than its alert. */
  since?: (robot: Robot) => string | null;
  /** The list that shows all of them. */
  list: (first: Robot | undefined) => string;
}

const percent = ({ battery_pct }: Robot) => battery_pct ?? 100;

const views: Readonly<Record<AlertKind, View>> = {
  robot_offline: {
    tone: 'warn',
    says: () => 'offline',
    since: ({ last_seen_at }) => last_seen_at,
    list: () => '/robots?state=offline',
  },
  battery_low: {
    tone: 'warn',
    says: () => 'low on battery',
    detail(robots) {
      const lowest = Math.round(Math.min(...robots.map(percent)));
      return robots.length === 1 ? `${lowest} %` : `the lowest at ${lowest} %`;
    },
    since: ({ battery_low_since }) => battery_low_since,
    list: () => '/robots?sort=battery',
  },
  robot_state: {
    says(robots) {
      const states = new Set(robots.map(({ state }) => state));
      return states.size === 1 ? `in state ${robots[0]?.state}` : 'in bad states';
    },
    detail: newestError,
    since: ({ state_since }) => state_since,
    list: (first) => `/robots?state=${encodeURIComponent(first?.state ?? '')}`,
  },
  error_event: {
    says: (robots) => (robots.length === 1 ? 'with an error' : 'with errors'),
    detail: newestError,
    list: () => '/events?severity=error',
  },
  anchor_failed: { says: () => 'with failed anchors', list: () => '/tasks?state=failed' },
  anchor_stuck: { says: () => 'with stuck anchors', list: () => '/tasks?state=queued' },
  credit_low: { says: () => 'Credits exhausted or running low', list: () => '/account' },
  webhook_disabled: { says: () => 'A webhook is disabled', list: () => '/webhooks' },
};

function newestError(robots: Robot[]): string | null {
  const errors = robots.flatMap(({ last_error }) => last_error ?? []);
  const newest = errors.reduce<(typeof errors)[number] | undefined>(
    (a, b) => (a && a.created_at > b.created_at ? a : b),
    undefined,
  );
  return newest ? `${newest.event_type}${newest.message && `: ${newest.message}`}` : null;
}
