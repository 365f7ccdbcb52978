// The page of one proof hash, to share. A file of its own because each view is loaded on demand.
import { Link, useParams, useSearchParams } from 'wouter';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { shorten } from '../ui/values.tsx';
import { HashResult, useVerification } from './verify/hash-result.tsx';

export default function VerifyHash() {
  const { proofHash = '' } = useParams();
  const [search] = useSearchParams();
  const hash = proofHash.toLowerCase();
  if (!/^0x[0-9a-f]{64}$/.test(hash)) {
    return (
      <Page title="Not a proof hash">
        <Empty title="A proof hash is 0x and 64 hex digits">
          <Link href="/verify">Verify another proof</Link>
        </Empty>
      </Page>
    );
  }
  return <Proof hash={hash} taskId={search.get('task_id') ?? undefined} />;
}

function Proof({ hash, taskId }: { hash: string; taskId: string | undefined }) {
  const { data } = useVerification(hash, taskId);
  return (
    <Page
      title={data ? `${data.task.title} by ${data.task.robot}` : `Proof ${shorten(hash)}`}
      parent={{ href: '/verify', label: 'Verify another proof' }}
    >
      <HashResult hash={hash} taskId={taskId} />
    </Page>
  );
}
