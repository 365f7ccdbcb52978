import { Alert, Text } from '@mantine/core';
import { auditBundleAlone } from '../../../proof/audit-bundle.ts';
import { Hex } from '../../ui/copy.tsx';
import { Checks } from './checks.tsx';
import { HashResult } from './hash-result.tsx';
import type { Subject } from './read-subject.ts';

/** What a file says by itself, and what the chain says to it. */
export function FileResult({ subject }: { subject: Subject }) {
  if (subject.kind === 'fault') {
    return (
      <Alert color="red" role="alert" title={`${subject.file} can not be checked`}>
        {subject.message}
      </Alert>
    );
  }
  if (subject.kind === 'evidence') {
    return (
      <>
        <section className="card" aria-label="File" role="status">
          <h2 className="card-title">{subject.file}</h2>
          <Text size="sm" mb="xs">
            Evidence, hashed in this browser:
          </Text>
          <Hex value={subject.hash} what="proof hash" />
        </section>
        <HashResult hash={subject.hash} taskId={undefined} />
      </>
    );
  }
  const { bundle, file } = subject;
  return (
    <>
      <section className="card" aria-label="File" role="status">
        <h2 className="card-title">{file}</h2>
        <Text size="sm" mb="xs">
          A bundle for “{bundle.claim.title}”, checked in this browser without a chain:
        </Text>
        <Checks checks={auditBundleAlone(bundle)} />
      </section>
      <HashResult hash={bundle.proof_hash} taskId={bundle.task.id} bundle={bundle} />
    </>
  );
}
