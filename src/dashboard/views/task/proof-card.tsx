import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { hashProof } from '../../../proof/hash.ts';
import type { Proof } from '../../../proof/index.ts';
import type { Anchor } from '../../../protocol/resources.ts';
import { ask, ServiceError } from '../../api.ts';
import { saveJson } from '../../ui/save-json.ts';
import { Failure, Loading } from '../../ui/states.tsx';

interface ProofCardProps {
  taskId: string;
  anchor: Anchor | null;
}

/** The evidence, as it was handed in; only its owner sees it. */
export function ProofCard({ taskId, anchor }: ProofCardProps) {
  return (
    <section className="card" aria-labelledby="proof">
      <h2 className="card-title" id="proof">
        Proof
      </h2>
      {anchor === null ? (
        <Text size="sm" c="dimmed">
          Nothing was handed in yet.
        </Text>
      ) : (
        <Evidence taskId={taskId} anchor={anchor} />
      )}
    </section>
  );
}

function Evidence({ taskId, anchor }: { taskId: string; anchor: Anchor }) {
  const query = useQuery({
    queryKey: ['proof', taskId, anchor.proof_hash],
    queryFn: ({ signal }) => ask('GET /api/v1/tasks/:id/proof', { params: { id: taskId }, signal }),
    refetchInterval: false,
  });
  const bundle = useMutation({
    mutationFn: () => ask('GET /api/v1/tasks/:id/bundle', { params: { id: taskId } }),
    onSuccess: (document) => saveJson(`bundle-${taskId}.json`, document),
  });
  const isAnchored = anchor.state === 'included' || anchor.state === 'finalized';
  return (
    <>
      <EvidenceText query={query} hash={anchor.proof_hash} />
      <Group gap="xs" mt="md">
        {query.data && (
          <Button
            size="xs"
            variant="default"
            onClick={() => saveJson(`evidence-${taskId}.json`, query.data.proof)}
          >
            Download evidence
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          disabled={!isAnchored}
          loading={bundle.isPending}
          onClick={() => bundle.mutate()}
        >
          Download bundle
        </Button>
      </Group>
      {bundle.isError && (
        <Alert color="red" mt="sm" role="alert">
          {bundle.error.message}
        </Alert>
      )}
      <Text size="xs" c="dimmed" mt="xs">
        A bundle holds all that proves the task to anyone who has a node of the chain, the evidence
        included.
      </Text>
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
    return <Text size="sm">{error.message}</Text>;
  }
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (data === undefined) return <Loading what="evidence" rows={2} />;
  // The service answers what it took, and it takes nothing else.
  const matches = hashProof(data.proof as Proof) === hash;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <pre className="json" tabIndex={0}>
        {JSON.stringify(data.proof, null, 2)}
      </pre>
      <Text size="sm" mt="xs" role="status">
        {matches
          ? 'Hashed in this browser: it is the evidence of the proof hash.'
          : 'Hashed in this browser: it is not the evidence of the proof hash.'}
      </Text>
    </>
  );
}
