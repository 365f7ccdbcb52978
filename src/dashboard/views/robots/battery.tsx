// The battery level of a robot.

/** Percentage below which a robot should go to a dock. */
export const LOW_PERCENT = 20;

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
