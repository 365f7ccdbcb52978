// A task: claim, evidence, anchor and receipt.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'wouter';
import type { TaskDetail } from '../../protocol/resources.ts';
import { useRobotLinks } from '../lists/robot-links.tsx';
import { taskQuery } from '../queries.ts';
import { AnchorBadge } from '../ui/badge.tsx';
import { Card, Fact, HexFact } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { WaitingReason } from '../ui/service-status.tsx';
import { Waiting } from '../ui/states.tsx';
import { Ago, dateAndTime, Freshness } from '../ui/time.tsx';
import { Json } from '../ui/values.tsx';
import { AnchorCard } from './task/anchor-card.tsx';
import { ProofCard } from './task/proof-card.tsx';
import { ReceiptCard } from './task/receipt-card.tsx';

const parent = { href: '/tasks', label: 'Tasks' };

export default function Task() {
  const { id = '' } = useParams();
  const linkTo = useRobotLinks();
  const query = useQuery(taskQuery(id));
  if (query.data === undefined) {
    const waiting = <Waiting query={query} what="task" />;
    if (!query.isError) return waiting;
    return (
      <Page title="Task" parent={parent}>
        {waiting}
      </Page>
    );
  }
  const { task, anchor, verification } = query.data;
  return (
    <Page
      title={task.title}
      parent={parent}
      badge={<AnchorBadge anchor={anchor} refusedAt={task.credit_refused_at} />}
      lead={
        <>
          {linkTo(task.robot_id)} · claimed <Ago at={task.created_at} /> ·{' '}
          {task.outcome && `${task.outcome} · `}
          <Freshness query={query} />
          {anchor?.state === 'queued' && <WaitingReason />}
        </>
      }
    >
      <AnchorCard {...query.data} />
      {verification && <ReceiptCard verification={verification} />}
      <div className="grid-wide">
        <ClaimCard task={task} />
        <ProofCard taskId={task.id} anchor={anchor} refusedAt={task.credit_refused_at} />
      </div>
    </Page>
  );
}

/** What the robot claimed before its work. */
function ClaimCard({ task }: { task: TaskDetail }) {
  return (
    <Card title="Claim">
      <dl className="facts">
        <HexFact name="Task" value={task.id} what="task id" />
        <Fact name="Claimed">{dateAndTime(task.created_at)}</Fact>
        {task.occurred_at && <Fact name="Robot clock">{task.occurred_at}</Fact>}
      </dl>
      {task.description && <p className="description">{task.description}</p>}
      <h3 className="card-title sub-title">Expected result</h3>
      {task.expected_result === null ? (
        <Text c="dimmed">None</Text>
      ) : (
        <Json value={task.expected_result} what="expected result" />
      )}
    </Card>
  );
}
