// The page of one proof hash, to share. A file of its own because each view is loaded on demand.
import { Alert } from '@mantine/core';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { recognizeText, type Subject, subjectOfHash } from '../../proof/subject/subject.ts';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { shorten } from '../ui/values.tsx';
import { FileDrop } from './verify/file-drop.tsx';
import { ProofResult, useVerification } from './verify/proof-result.tsx';
import { StatedCard, useStated } from './verify/stated.tsx';

export default function VerifyHash() {
  const { proofHash = '' } = useParams();
  const [search] = useSearchParams();
  /** Set by the page on which a reader gave a hash or an address. */
  const given = useHistoryState<{ kind?: Subject['kind'] } | null>();
  if (recognizeText(proofHash)?.kind !== 'proof hash') {
    return (
      <Page title="Not a proof hash">
        <Empty title="A proof hash is 0x and 64 hex digits">
          <Link href="/verify">Verify another proof</Link>
        </Empty>
      </Page>
    );
  }
  const kind = given?.kind ?? 'proof hash';
  const subject = subjectOfHash(kind, proofHash, search.get('task_id'));
  return <Proof subject={subject} isGiven={given?.kind !== undefined} />;
}

/** `isGiven`: a reader gave the hash, and sees what it was recognized as. */
function Proof({ subject: named, isGiven }: { subject: Subject; isGiven: boolean }) {
  const [given, setGiven] = useState<Subject | null>(null);
  const [problem, setProblem] = useState('');
  const subject = given ?? named;
  const { data } = useVerification(subject);
  const stated = useStated(subject);
  const { task } = data?.stated ?? {};
  const take = async (files: readonly File[]) => {
    setProblem('');
    for (const file of files) {
      const found = await documentIn(file, named);
      if (typeof found === 'string') setProblem(found);
      else setGiven(found);
    }
  };
  return (
    <Page
      title={
        task
          ? `${task.title} by ${task.robot}`
          : (stated?.title ?? `Proof ${shorten(subject.proofHash)}`)
      }
      parent={{ href: '/verify', label: 'Verify another proof' }}
    >
      <ProofResult
        key={given === null ? '' : given.kind}
        subject={subject}
        isNamed={isGiven || given !== null}
        drop={
          <section className="card" aria-label="Compare a file">
            <FileDrop onFiles={take} multiple>
              Do you have the bundle or the evidence? Drop it here, or <u>choose a file</u>; then
              photos and other files that it lists. All stay on this device.
            </FileDrop>
            {problem !== '' && (
              <Alert color="red" role="alert" mt="sm">
                {problem}
              </Alert>
            )}
          </section>
        }
      />
      {data === undefined && stated !== null && <StatedCard stated={stated} />}
    </Page>
  );
}

/** A bundle, receipt or evidence about the proof of this page; else why the file is none. */
async function documentIn(file: File, named: Subject): Promise<Subject | string> {
  if (/^(image|video|audio)\//.test(file.type)) {
    return `${file.name} cannot be compared yet: first drop the bundle or the evidence, which lists its files.`;
  }
  const { readFile } = await import('./verify/read-subject.ts');
  const found = await readFile(file);
  if ('refusal' in found) return `${found.refusal.title}: ${found.refusal.message}`;
  const { recognized } = found;
  const isOther =
    !('proofHash' in recognized) ||
    recognized.proofHash !== named.proofHash ||
    (recognized.taskId ?? named.taskId) !== (named.taskId ?? recognized.taskId);
  if (isOther) return `${file.name} is about another proof than this page.`;
  return { ...recognized, taskId: recognized.taskId ?? named.taskId };
}
