// The verdict about a task: the stages of its anchor, its outcome, and how its evidence compares.
import { Alert, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Anchor, Verification } from '../../../protocol/resources.ts';
import type { Reply } from '../../api.ts';
import { chainQuery, reading } from '../../queries.ts';
import { Badge, stateNames } from '../../ui/badge.tsx';
import { Card, Fact } from '../../ui/card.tsx';
import { CreditLink } from '../../ui/credit.tsx';
import { cost } from '../../ui/ether.ts';
import { Ago, dateAndTime, duration } from '../../ui/time.tsx';
import { saveJson } from '../../ui/values.tsx';
import { type ComparedMember, countMembers } from './comparison.ts';
import './task.css';

const stages = ['queued', 'submitted', 'included', 'safe', 'finalized'] as const;

const meanings: Record<Anchor['state'], string> = {
  queued: 'The proof is stored. The service anchors it as soon as it can.',
  submitted: 'A transaction with the proof is signed and submitted, and waits for a block.',
  included: 'The transaction is in a block. A chain reorganization could still remove it.',
  finalized: 'The block is final. A chain reorganization cannot remove it.',
  reorged: 'A chain reorganization removed the block. The service is anchoring the proof again.',
  failed:
    'The chain refused the anchor before it was signed. The robot can submit the proof again.',
};

interface StatusCardProps extends Reply<'GET /api/v1/tasks/:id'> {
  /** Null without an expected result, or without evidence. */
  members: readonly ComparedMember[] | null;
  /** Whether the robot signed; empty while it is not known. */
  signature: string;
}

export function StatusCard({ task, anchor, verification, members, signature }: StatusCardProps) {
  if (anchor === null) {
    const refusedAt = task.credit_refused_at;
    return (
      <Card title="Status">
        {refusedAt === null ? (
          <Text>The robot has not submitted a proof yet.</Text>
        ) : (
          <Alert color="red" title="Refused for lack of credit" role="status">
            The service refused the proof <Ago at={refusedAt} />. The task stays claimed: after a
            top-up, the robot can submit the proof again. <CreditLink />
          </Alert>
        )}
      </Card>
    );
  }
  const isSafe = anchor.state === 'included' && verification?.finality === 'safe';
  const reached = stages.indexOf(isSafe ? 'safe' : (anchor.state as (typeof stages)[number]));
  const troubled = anchor.state === 'reorged' || anchor.state === 'failed';
  return (
    <Card title="Status" actions={verification && <ReceiptButtons verification={verification} />}>
      {troubled ? (
        <Alert
          color={anchor.state === 'failed' ? 'red' : 'yellow'}
          title={stateNames[anchor.state]}
          role="status"
        >
          {meanings[anchor.state]}
        </Alert>
      ) : (
        <>
          <ol
            className="stages"
            aria-label="Stages of the anchor"
            data-done={anchor.state === 'finalized' || undefined}
          >
            {stages.map((stage, place) => (
              <li
                key={stage}
                data-reached={place <= reached || undefined}
                aria-current={place === reached ? 'step' : undefined}
              >
                {stage}
              </li>
            ))}
          </ol>
          <Text role="status">
            {isSafe
              ? 'Most of the chain has confirmed the block; it is not final yet.'
              : meanings[anchor.state]}
          </Text>
        </>
      )}
      <dl className="facts anchor-facts">
        {task.outcome && (
          <Fact name="Outcome">
            <Badge tone={task.outcome === 'succeeded' ? 'good' : 'warn'}>{task.outcome}</Badge>, as
            the robot states
          </Fact>
        )}
        {members && <Fact name="Expected result">{countMembers(members)}</Fact>}
        {signature && <Fact name="Signature">{signature}</Fact>}
        <Promised anchor={anchor} verification={verification} />
        <Cost taskId={task.id} />
      </dl>
    </Card>
  );
}

function ReceiptButtons({ verification }: { verification: Verification }) {
  const { proof_hash, task_id } = verification;
  return (
    <Group gap="xs">
      <Button size="xs" component={Link} href={`/verify/${proof_hash}?task_id=${task_id}`}>
        Public page
      </Button>
      <Button size="xs" onClick={() => saveJson(`receipt-${task_id}.json`, verification)}>
        Download receipt
      </Button>
    </Group>
  );
}

/** Whether the service kept the time by which it anchors what it accepts. */
function Promised({
  anchor: { accepted_at, anchored_by },
  verification,
}: Pick<StatusCardProps, 'verification'> & { anchor: Anchor }) {
  if (accepted_at === null || anchored_by === null) return null;
  const anchored = verification === null ? Date.now() : Date.parse(verification.anchored_at);
  const isLate = anchored > Date.parse(anchored_by);
  const took = duration(Math.max(0, anchored - Date.parse(accepted_at)));
  return (
    <Fact name="Promise">
      {verification === null
        ? `Anchored by ${dateAndTime(anchored_by)}`
        : `Anchored ${took} after acceptance, promised by ${dateAndTime(anchored_by)}`}{' '}
      {isLate && <Badge tone="bad">late</Badge>}
    </Fact>
  );
}

/** What the anchor cost, as the ledger has it; each repeated submission has a reservation of its own. */
function Cost({ taskId }: { taskId: string }) {
  const query = { task_id: taskId };
  const { data: chain } = useQuery(chainQuery);
  const { data } = useQuery(reading(['ledger', taskId], 'GET /api/v1/credits/ledger', { query }));
  if (data === undefined || data.items.length === 0) return null;
  const symbol = chain?.params.nativeCurrency.symbol ?? 'ETH';
  const isOpen = data.items.some(({ cost_wei }) => cost_wei === null);
  const sum = data.items.reduce(
    (wei, { cost_wei, gas_wei }) => wei + BigInt(cost_wei ?? gas_wei.replace('-', '')),
    0n,
  );
  return (
    <Fact name="Cost">
      {isOpen && 'at most '}
      {cost(`${sum}`)} {symbol}
    </Fact>
  );
}
