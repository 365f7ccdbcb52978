import { Text } from '@mantine/core';
import type { TaskDetail } from '../../../protocol/resources.ts';
import { Hex } from '../../ui/copy.tsx';
import { Json } from '../../ui/json.tsx';
import { dateAndTime } from '../../ui/time.tsx';

/** What was promised before the work. */
export function ClaimCard({ task }: { task: TaskDetail }) {
  return (
    <section className="card" aria-labelledby="claim">
      <h2 className="card-title" id="claim">
        Claim
      </h2>
      <dl className="facts">
        <dt>Task</dt>
        <dd>
          <Hex value={task.id} what="task id" />
        </dd>
        <dt>Claimed</dt>
        <dd>{dateAndTime(task.created_at)}</dd>
        {task.occurred_at && (
          <>
            <dt>By its own clock</dt>
            <dd>{task.occurred_at}</dd>
          </>
        )}
      </dl>
      {task.description && <p className="description">{task.description}</p>}
      <h3 className="card-title sub-title">Expected result</h3>
      {task.expected_result === null ? (
        <Text size="sm" c="dimmed">
          None was stated.
        </Text>
      ) : (
        <Json value={task.expected_result} what="expected result" />
      )}
    </section>
  );
}
