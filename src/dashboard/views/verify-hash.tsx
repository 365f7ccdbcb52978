// The page of one proof hash, to share. A file of its own because each view is loaded on demand.
import { Link, useParams, useSearchParams } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { recognizeText, type Subject, subjectOfHash } from '../../proof/subject/subject.ts';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { shorten } from '../ui/values.tsx';
import { ProofResult, useVerification } from './verify/proof-result.tsx';

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
function Proof({ subject, isGiven }: { subject: Subject; isGiven: boolean }) {
  const { data } = useVerification(subject);
  const { task } = data?.stated ?? {};
  return (
    <Page
      title={task ? `${task.title} by ${task.robot}` : `Proof ${shorten(subject.proofHash)}`}
      parent={{ href: '/verify', label: 'Verify another proof' }}
    >
      <ProofResult subject={subject} isNamed={isGiven} />
    </Page>
  );
}
