// The evidence of a task, and its erasure.
import { Button, Group, Text } from '@mantine/core';
import { type UseQueryResult, useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { hashProof } from '../../../proof/hash.ts';
import type { Proof } from '../../../proof/index.ts';
import type { Anchor, TaskDetail } from '../../../protocol/resources.ts';
import { ask, ServiceError } from '../../api.ts';
import { Card } from '../../ui/card.tsx';
import { Failure, Loading, Problem } from '../../ui/states.tsx';
import { Json, saveJson } from '../../ui/values.tsx';

const ConfirmDeletion = lazy(async () => ({
  default: (await import('../../ui/dialog.tsx')).ConfirmDeletion,
}));

interface ProofCardProps {
  task: TaskDetail;
  anchor: Anchor | null;
  query: UseQueryResult<{ proof: unknown; proof_hash: string }>;
}

/** The evidence as the robot sent it. Only its owner can see it. */
export function ProofCard({ task, anchor, query }: ProofCardProps) {
  const none =
    task.credit_refused_at === null
      ? 'No proof was submitted yet.'
      : 'The robot submitted a proof, which was refused for lack of credit. Nothing is stored.';
  return (
    <Card title="What was done">
      {anchor === null ? (
        <Text c="dimmed">{none}</Text>
      ) : (
        <Evidence task={task} anchor={anchor} query={query} />
      )}
    </Card>
  );
}

function Evidence({ task, anchor, query }: ProofCardProps & { anchor: Anchor }) {
  const params = { id: task.id };
  const [isErasing, setIsErasing] = useState(false);
  // Evidence that was loaded before its erasure is no longer shown.
  const evidence = query.error === null ? query.data : undefined;
  const bundle = useMutation({
    mutationFn: () => ask('GET /api/v1/tasks/:id/bundle', { params }),
    onSuccess: (document) => saveJson(`bundle-${task.id}.json`, document),
  });
  const isAnchored = anchor.state === 'included' || anchor.state === 'finalized';
  return (
    <>
      <EvidenceText query={query} hash={anchor.proof_hash} />
      <Group gap="xs" mt="md">
        {evidence && (
          <Button size="xs" onClick={() => saveJson(`evidence-${task.id}.json`, evidence.proof)}>
            Download evidence
          </Button>
        )}
        <Button
          size="xs"
          disabled={!isAnchored}
          loading={bundle.isPending}
          onClick={() => bundle.mutate()}
        >
          Download bundle
        </Button>
        {evidence && (
          <Button size="xs" className="danger" onClick={() => setIsErasing(true)}>
            Erase evidence
          </Button>
        )}
      </Group>
      <Problem of={bundle} mt="sm" />
      <Text size="xs" c="dimmed" mt="xs">
        A bundle contains everything that proves the task, given a node of the chain
        {evidence && ', including the evidence'}.
      </Text>
      {isErasing && (
        <Suspense>
          <ConfirmDeletion
            word="erase"
            title="Erase the evidence"
            submit="Erase permanently"
            onClose={() => setIsErasing(false)}
            onSubmit={() => ask('DELETE /api/v1/tasks/:id/proof', { params })}
          >
            The service permanently erases the evidence. Hash, anchor and receipt remain, so a copy
            of the evidence can still be proven. Download a copy first if you may need it.
          </ConfirmDeletion>
        </Suspense>
      )}
    </>
  );
}

/** `hash`: of the anchor. */
function EvidenceText({ query, hash }: Pick<ProofCardProps, 'query'> & { hash: string }) {
  const { data, error, refetch } = query;
  if (error instanceof ServiceError && error.code === 'not_found') {
    return <Text>{error.message}</Text>;
  }
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (data === undefined) return <Loading what="evidence" rows={2} />;
  // The service only stores proofs, and answers with what it stored.
  const matches = hashProof(data.proof as Proof) === hash;
  return (
    <>
      <Json value={data.proof} what="evidence" />
      <Text mt="xs" role="status">
        Hashed in this browser: the evidence {matches ? 'matches' : 'does not match'} the proof
        hash.
      </Text>
    </>
  );
}
