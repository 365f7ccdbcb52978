// Shows the result for what a person gave: a subject, a task id, or why nothing was recognized.
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { JsonValue } from '../../../proof/json-value.ts';
import { subjectOfReceipt } from '../../../proof/subject/subject.ts';
import { ServiceError } from '../../api.ts';
import { taskQuery } from '../../queries.ts';
import { POLL_MS } from '../../stream.ts';
import { Empty, Waiting } from '../../ui/states.tsx';
import { ProofResult } from './proof-result.tsx';
import type { Found } from './read-subject.ts';

export default function SubjectResult({ found }: { found: Found }) {
  if ('refusal' in found) {
    return (
      <Alert color="red" role="alert" title={found.refusal.title}>
        {found.refusal.message}
      </Alert>
    );
  }
  const { recognized } = found;
  if ('proofHash' in recognized) {
    // Files that were given for another proof do not count.
    return <ProofResult key={recognized.proofHash} subject={recognized} />;
  }
  return <TaskResult id={recognized.taskId} />;
}

/** The receipt of a task, which only its account can look up. */
function TaskResult({ id }: { id: string }) {
  // No stream is open on a public page.
  const query = useQuery({ ...taskQuery(id), refetchInterval: POLL_MS });
  const { data, error } = query;
  if (error instanceof ServiceError && error.status === 401) {
    return (
      <Empty title="Recognized as task id: sign in to look it up">
        Only the account of a task can look it up by its id. A receipt or a bundle needs no session.
      </Empty>
    );
  }
  if (error || data === undefined) return <Waiting query={query} what="task" />;
  if (data.verification === null) return <Empty title="This task has no receipt yet" />;
  return <ProofResult subject={subjectOfReceipt('task id', data.verification as JsonValue)} />;
}
