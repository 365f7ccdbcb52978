// When a task was claimed and completed, by the clocks of robot, service and chain. Its own file, so that its test needs no browser.
import type { Anchor, TaskDetail, Verification } from '../../../protocol/resources.ts';

/** Times in ms; null where a clock has none. */
export interface Moment {
  name: 'Claimed' | 'Completed';
  robot: number | null;
  service: number | null;
  block: number | null;
}

/** Times that the robot signed, in ms. */
export interface SignedTimes {
  claim: number | null;
  result: number;
}

interface Facts {
  task: Pick<TaskDetail, 'created_at' | 'occurred_at'>;
  anchor: Pick<Anchor, 'accepted_at'> | null;
  verification: Pick<Verification, 'anchored_at'> | null;
}

const MINUTE_MS = 60_000;
/** The shortest axis: more than a block of most chains. */
const SHORTEST_MS = 20_000;

export function momentsOf(
  { task, anchor, verification }: Facts,
  signed: SignedTimes | null,
): [Moment, Moment] {
  return [
    {
      name: 'Claimed',
      robot: instantOf(task.occurred_at) ?? signed?.claim ?? null,
      service: instantOf(task.created_at),
      block: null,
    },
    {
      name: 'Completed',
      robot: signed?.result ?? null,
      service: instantOf(anchor?.accepted_at ?? null),
      block: instantOf(verification?.anchored_at ?? null),
    },
  ];
}

/** ISO 8601; UTC without an offset, as the service reads it. */
function instantOf(text: string | null): number | null {
  if (text === null) return null;
  const hasZone = /(?:Z|[+-]\d\d:?\d\d|^[^T ]*)$/i.test(text);
  const at = Date.parse(hasZone ? text : `${text}Z`);
  return Number.isNaN(at) ? null : at;
}

export const timesOf = ({ robot, service, block }: Moment): number[] =>
  [robot, service, block].filter((at) => at !== null);

/** How long after the robot's time the service got it, in ms; negative if the robot's clock is ahead. Null within a minute. */
export function lateness({ robot, service }: Moment): number | null {
  const ms = robot === null || service === null ? 0 : service - robot;
  return Math.abs(ms) > MINUTE_MS ? ms : null;
}

/**
 * The period from claim to block with a margin, up to `now` without a block. Without the robot's times if its clock would
 * make it longer than `longestMs`.
 */
export function wholeOf(
  moments: readonly Moment[],
  now: number,
  longestMs: number,
): { from: number; to: number } {
  const [isOpen, all] = [moments.every(({ block }) => block === null), moments.flatMap(timesOf)];
  const until = isOpen ? [now] : [];
  const [first, last] = [Math.min(...all, ...until), Math.max(...all, ...until)];
  const span = last - first;
  if (span > longestMs) {
    const trusted = moments.map((moment) => ({ ...moment, robot: null }));
    if (moments.some(({ robot }) => robot !== null)) return wholeOf(trusted, now, longestMs);
    return { from: last - longestMs, to: last };
  }
  const margin = Math.max(span / 25, (SHORTEST_MS - span) / 2);
  return { from: Math.floor(first - margin), to: Math.ceil(last + margin) };
}
