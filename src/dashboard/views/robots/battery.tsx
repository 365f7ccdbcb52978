// The battery level of a robot.
import './battery.css';
import type { limits } from '../../../protocol/limits.ts';

const LOW_PERCENT: typeof limits.lowBatteryPct = 20;

export function Battery({ percent }: { percent: number | null }) {
  if (percent === null) return <span className="dash">–</span>;
  return (
    <span className="battery" data-low={percent < LOW_PERCENT || undefined}>
      <span className="battery-bar" aria-hidden>
        <span style={{ width: `${percent}%` }} />
      </span>
      {Math.round(percent)} %
    </span>
  );
}
