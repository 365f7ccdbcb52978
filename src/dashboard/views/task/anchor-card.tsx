// The stages of a task's anchor.
import { Alert, Text } from '@mantine/core';
import type { Anchor } from '../../../protocol/resources.ts';
import type { Reply } from '../../api.ts';
import { stateNames } from '../../ui/badge.tsx';
import { Card, Fact, HexFact, TransactionFact } from '../../ui/card.tsx';
import { CreditLink } from '../../ui/credit.tsx';
import { Ago } from '../../ui/time.tsx';
import { counted } from '../../ui/values.tsx';
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

export function AnchorCard({ task, anchor, verification }: Reply<'GET /api/v1/tasks/:id'>) {
  if (anchor === null) {
    const refusedAt = task.credit_refused_at;
    return (
      <Card title="Anchor">
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
    <Card title="Anchor">
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
        <HexFact name="Proof hash" value={anchor.proof_hash} what="proof hash" />
        <TransactionFact anchor={anchor} />
        <Fact name="Last change">
          <Ago at={anchor.updated_at} /> · {counted(anchor.attempts, 'attempt')}
        </Fact>
      </dl>
    </Card>
  );
}
