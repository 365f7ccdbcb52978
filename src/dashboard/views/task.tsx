// A task: what was asked, what was done, when, and what proves it.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { useParams } from 'wouter';
import type { Proof } from '../../proof/json-value.ts';
import type { TaskDetail } from '../../protocol/resources.ts';
import { useRobotLinks } from '../lists/robot-links.tsx';
import { reading, taskQuery } from '../queries.ts';
import { AnchorBadge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { WaitingReason } from '../ui/service-status.tsx';
import { Loading, Waiting } from '../ui/states.tsx';
import { Ago, Freshness } from '../ui/time.tsx';
import { Json } from '../ui/values.tsx';
import { compareMembers } from './task/comparison.ts';
import { momentsOf } from './task/moments.ts';
import { ProofCard } from './task/proof-card.tsx';
import { ReceiptFold } from './task/receipt-fold.tsx';
import { ResultCard } from './task/result-card.tsx';
import { StatusCard } from './task/status-card.tsx';
import { Timeline } from './task/timeline.tsx';

const FilesCard = lazy(() => import('./task/files-card.tsx'));
const SignatureCard = lazy(() => import('./task/signature-card.tsx'));

const parent = { href: '/tasks', label: 'Tasks' };

export default function Task() {
  const { id = '' } = useParams();
  const linkTo = useRobotLinks();
  const query = useQuery(taskQuery(id));
  const { task, anchor = null, verification = null } = query.data ?? {};
  const evidence = useQuery({
    ...reading(['proof', id, anchor?.proof_hash], 'GET /api/v1/tasks/:id/proof', {
      params: { id },
    }),
    enabled: anchor !== null,
    refetchInterval: false,
  });
  const signed = useQuery({
    queryKey: ['signed-work', id],
    queryFn: async ({ signal }) =>
      (await import('./task/signed-work.ts')).readSignedWork(id, signal),
    enabled: verification?.format === 'svc-receipt/2',
    refetchInterval: false,
  });
  // Evidence that was loaded before its erasure is no longer shown.
  const proof = (evidence.error === null && (evidence.data?.proof as Proof | undefined)) || null;
  const expected = task?.expected_result ?? null;
  const members = useMemo(
    () => (expected === null || proof === null ? null : compareMembers(expected, proof)),
    [expected, proof],
  );
  if (task === undefined) {
    const waiting = <Waiting query={query} what="task" />;
    if (!query.isError) return waiting;
    return (
      <Page title="Task" parent={parent}>
        {waiting}
      </Page>
    );
  }
  const answer = { task, anchor, verification };
  const isSigned = verification?.format === 'svc-receipt/2';
  const signature = isSigned
    ? 'Signed by the robot'
    : verification
      ? 'Not signed by the robot'
      : '';
  return (
    <Page
      title={task.title}
      parent={parent}
      badge={<AnchorBadge anchor={anchor} refusedAt={task.credit_refused_at} />}
      lead={
        <>
          {linkTo(task.robot_id)} · claimed <Ago at={task.created_at} /> ·{' '}
          <Freshness query={query} />
          {anchor?.state === 'queued' && <WaitingReason />}
        </>
      }
    >
      <StatusCard {...answer} members={members} signature={signature} />
      <div className="grid-wide">
        <ClaimCard task={task} />
        <ProofCard task={task} anchor={anchor} query={evidence} />
      </div>
      {members && <ResultCard members={members} />}
      <Timeline robotId={task.robot_id} moments={momentsOf(answer, signed.data?.times ?? null)} />
      {proof && 'files' in proof && (
        <Suspense fallback={<Loading what="files" />}>
          <FilesCard proof={proof} />
        </Suspense>
      )}
      {signed.data && (
        <Suspense fallback={<Loading what="signature" />}>
          <SignatureCard report={signed.data.report} />
        </Suspense>
      )}
      <ReceiptFold {...answer} />
    </Page>
  );
}

/** What the robot was to do, as it claimed before its work. */
function ClaimCard({ task }: { task: TaskDetail }) {
  return (
    <Card title="What was asked">
      <Text fw={600}>{task.title}</Text>
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
