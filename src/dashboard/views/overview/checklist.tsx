// The first steps of a new account.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Stats } from '../../../protocol/telemetry.ts';
import { robotsQuery } from '../../queries.ts';
import { Card } from '../../ui/card.tsx';
import { FirstCall } from '../../ui/first-call.tsx';

/** Which of the first steps the account has done. */
export function useFirstSteps({ robots, tasks, samples_by_hour }: Stats) {
  const { data: known = [] } = useQuery(robotsQuery);
  const hasSample =
    known.some(({ state, battery_pct }) => state !== null || battery_pct !== null) ||
    samples_by_hour.some(({ samples }) => samples > 0);
  return { hasRobot: robots.total > 0, hasSample, hasProof: tasks.verified > 0 };
}

export function Checklist({ hasRobot, hasSample, hasProof }: ReturnType<typeof useFirstSteps>) {
  if (hasRobot && hasSample && hasProof) return null;
  return (
    <Card title="First steps">
      <ol className="first-steps">
        <Step isDone={hasRobot} name="Add a robot">
          <Link href="/robots">Add a robot</Link> to get its API key, which is shown once.
        </Step>
        <Step isDone={hasSample} name="Send a sample">
          {hasRobot && (
            <FirstCall
              call="POST /api/v1/telemetry"
              body={{ state: 'idle', battery_pct: 80 }}
              by="ROBOT_KEY"
            />
          )}
        </Step>
        <Step isDone={hasProof} name="Submit the first proof">
          {hasRobot && (
            <>
              The robot <Link href="/tasks">claims a task</Link> before it works, and then submits
              its evidence.
            </>
          )}
        </Step>
      </ol>
    </Card>
  );
}

function Step({ isDone, name, children }: { isDone: boolean; name: string; children: ReactNode }) {
  return (
    <li data-done={isDone || undefined}>
      <strong>{name}</strong>
      {isDone ? ' – done' : <div>{children}</div>}
    </li>
  );
}
