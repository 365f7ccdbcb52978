// The evidence of a task, and its erasure.
import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { hashProof } from '../../../proof/hash.ts';
import type { Proof } from '../../../proof/index.ts';
import type { Anchor } from '../../../protocol/resources.ts';
import { ask, ServiceError } from '../../api.ts';
import { reading } from '../../queries.ts';
import { Card } from '../../ui/card.tsx';
import { ConfirmDeletion } from '../../ui/dialog.tsx';
import { Failure, Loading, Problem } from '../../ui/states.tsx';
import { Json, saveJson } from '../../ui/values.tsx';

interface ProofCardProps {
  taskId: string;
  anchor: Anchor | null;
  /** When a completion was refused for lack of credit. */
  refusedAt: string | null;
}

/** The evidence as the robot sent it. Only its owner can see it. */
export function ProofCard({ taskId, anchor, refusedAt }: ProofCardProps) {
  const none =
    refusedAt === null
      ? 'No proof was submitted yet.'
      : 'The robot submitted a proof, which was refused for lack of credit. Nothing is stored.';
  return (
    <Card title="Proof">
      {anchor === null ? (
        <Text c="dimmed">{none}</Text>
      ) : (
        <Evidence taskId={taskId} anchor={anchor} />
      )}
    </Card>
  );
}

function Evidence({ taskId, anchor }: { taskId: string; anchor: Anchor }) {
  const params = { id: taskId };
  const query = useQuery({
    ...reading(['proof', taskId, anchor.proof_hash], 'GET /api/v1/tasks/:id/proof', { params }),
    refetchInterval: false,
  });
  const [isErasing, setIsErasing] = useState(false);
  // Evidence that was loaded before its erasure is no longer shown.
  const evidence = query.error === null ? query.data : undefined;
  const bundle = useMutation({
    mutationFn: () => ask('GET /api/v1/tasks/:id/bundle', { params }),
    onSuccess: (document) => saveJson(`bundle-${taskId}.json`, document),
  });
  const isAnchored = anchor.state === 'included' || anchor.state === 'finalized';
  return (
    <>
      <EvidenceText query={query} hash={anchor.proof_hash} />
      <Group gap="xs" mt="md">
        {evidence && (
          <Button size="xs" onClick={() => saveJson(`evidence-${taskId}.json`, evidence.proof)}>
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
        <ConfirmDeletion
          word="erase"
          title="Erase the evidence"
          submit="Erase permanently"
          onClose={() => setIsErasing(false)}
          onSubmit={() => ask('DELETE /api/v1/tasks/:id/proof', { params })}
        >
          The service permanently erases the evidence. Hash, anchor and receipt remain, so a copy of
          the evidence can still be proven. Download a copy first if you may need it.
        </ConfirmDeletion>
      )}
    </>
  );
}

interface EvidenceTextProps {
  query: ReturnType<typeof useQuery<{ proof: unknown; proof_hash: string }>>;
  hash: string;
}

function EvidenceText({ query, hash }: EvidenceTextProps) {
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
