// When an event happened: by the robot's clock, or else when the service received it.
import type { OpsEvent } from '../../protocol/telemetry.ts';
import { Ago, duration } from './time.tsx';

type Times = Pick<OpsEvent, 'occurred_at' | 'created_at'>;

/** Events that arrive within this time, in ms, count as reported at once. */
const PROMPT_MS = 60_000;

export function EventTime({ event }: { event: Times }) {
  const delay = delayOf(event);
  return (
    <>
      {clockOf(event)} <Ago at={event.occurred_at ?? event.created_at} />
      {delay && <span className="late">{delay}</span>}
    </>
  );
}

/** As `EventTime`, without the time: `(occurred, received 30 min. later)`. */
export function eventTimeNote(event: Times): string {
  const delay = delayOf(event);
  return `(${clockOf(event)}${delay && `, ${delay}`})`;
}

function clockOf({ occurred_at }: Times): string {
  return occurred_at === null ? 'received' : 'occurred';
}

/** How much later the service received it; `''` if at once. */
function delayOf({ occurred_at, created_at }: Times): string {
  const lateMs = Date.parse(created_at) - Date.parse(occurred_at ?? created_at);
  return lateMs >= PROMPT_MS ? `received ${duration(lateMs)} later` : '';
}
