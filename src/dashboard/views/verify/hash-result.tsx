// Checks a proof hash in the browser and shows the verdict.
import './verify.css';
import { useQuery } from '@tanstack/react-query';
import { auditAnchor, type ChainFacts } from '../../../proof/audit-anchor.ts';
import { auditBundle } from '../../../proof/audit-bundle.ts';
import { type AuditCheck, isProven } from '../../../proof/audit-check.ts';
import type { Bundle } from '../../../proof/bundle.ts';
import type { PublicVerification } from '../../../protocol/resources.ts';
import { ask, ServiceError } from '../../api.ts';
import { Icon } from '../../ui/icon.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { VerifyCommand } from '../../ui/values.tsx';
import { anchorsListQuery, type Sender, senderOf, Unproven } from './identity.tsx';
import { ProofFacts } from './proof-facts.tsx';

interface HashResultProps {
  hash: string;
  taskId: string | undefined;
  /** Checked against the chain instead of the service's statements. */
  bundle?: Bundle;
}

/** Checks a proof hash in this browser against the chain's data, which the service reads from its node. */
export function HashResult({ hash, taskId, bundle }: HashResultProps) {
  const stated = useVerification(hash, taskId);
  const txHash = bundle?.anchor.tx_hash ?? stated.data?.anchor.tx_hash ?? undefined;
  const facts = useQuery({
    queryKey: ['transaction', txHash],
    queryFn: ({ signal }) =>
      ask('GET /api/v1/transactions/:txHash', { params: { txHash: txHash ?? '' }, signal }),
    enabled: txHash !== undefined,
  });
  const list = useQuery(anchorsListQuery);
  if (stated.data === undefined) {
    if (isUnknown(stated.error)) {
      return (
        <Empty title="No proof with this hash was anchored here">
          Evidence that differs in one character has another hash. Proofs of deleted robots can no
          longer be looked up; a bundle still proves them with <code>svc verify</code>.
        </Empty>
      );
    }
    if (stated.error) return <Failure error={stated.error} onRetry={stated.refetch} />;
    return <Loading what="proof" />;
  }
  if (facts.error) return <Failure error={facts.error} onRetry={facts.refetch} />;
  if (list.error) return <Failure error={list.error} onRetry={list.refetch} />;
  if (list.data === undefined || (txHash !== undefined && facts.data === undefined)) {
    return <Loading what="chain" />;
  }
  const checks = facts.data ? checksOf(stated.data, bundle, facts.data as ChainFacts) : [];
  const sender = facts.data ? senderOf(facts.data as ChainFacts, list.data) : null;
  return (
    <>
      <Verdict stated={stated.data} checks={checks} sender={sender} />
      <ProofFacts stated={stated.data} sender={sender} />
      {isProven(checks) && checks.length > 0 && <Unproven stated={stated.data} bundle={bundle} />}
      {checks.length > 0 && (
        <section className="card" aria-labelledby="checks">
          <h2 className="card-title" id="checks">
            Checks, made in this browser
          </h2>
          <Checks checks={checks} />
          <p className="hint">
            The chain was read through this service. To rely on your own node instead, run:
          </p>
          <VerifyCommand subject={hash} />
        </section>
      )}
    </>
  );
}

export function useVerification(hash: string, taskId: string | undefined) {
  return useQuery({
    queryKey: ['verification', hash, taskId],
    queryFn: ({ signal }) =>
      ask('GET /api/v1/verify/:proofHash', {
        params: { proofHash: hash },
        query: taskId === undefined ? {} : { task_id: taskId },
        signal,
      }),
  });
}

function isUnknown(error: Error | null): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}

function checksOf(
  { proof_hash, task, anchor }: PublicVerification,
  bundle: Bundle | undefined,
  facts: ChainFacts,
): AuditCheck[] {
  if (bundle !== undefined) return auditBundle(bundle, facts);
  const stated = {
    chain_id: anchor.chain_id,
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: task.claim_hash,
    inclusion: anchor.inclusion as Bundle['inclusion'],
    tx_hash: anchor.tx_hash ?? '',
    block_number: anchor.block_number ?? undefined,
    anchored_at: anchor.anchored_at ?? undefined,
    from: anchor.from ?? undefined,
  };
  return auditAnchor(stated, facts);
}

interface VerdictProps {
  stated: PublicVerification;
  checks: AuditCheck[];
  sender: Sender | null;
}

function Verdict({ stated, checks, sender }: VerdictProps) {
  const { tone, title, text } = verdictOf(stated, checks, sender);
  return (
    <section className="verdict" data-tone={tone} role="status" aria-label="Verdict">
      <Icon name={tone === 'good' ? 'verify' : 'alert'} size={34} />
      <div>
        <strong>{title}</strong>
        {text}
      </div>
    </section>
  );
}

/** Verdicts of an anchor that the chain contains, by the standing of its sender. */
const provenVerdicts = {
  listed: {
    tone: 'good',
    title: 'Verified',
    text: 'The chain contains this proof, bound to this task, robot and claim.',
  },
  retired: {
    tone: 'bad',
    title: 'Not verified',
    text: 'The account that sent it was retired before: it is later than the last block of the account.',
  },
  unlisted: {
    tone: 'warn',
    title: 'Anchored by an unknown account',
    text: 'The chain contains this proof, but this service does not list the sender as its account.',
  },
};

function verdictOf(
  { verified, anchor }: PublicVerification,
  checks: AuditCheck[],
  sender: Sender | null,
) {
  if (verified && isProven(checks)) return provenVerdicts[sender?.standing ?? 'unlisted'];
  if (anchor.finality === 'reorged') {
    return {
      tone: 'warn',
      title: 'Not verified now',
      text: 'A chain reorganization removed the block of this proof. The service is anchoring it again.',
    };
  }
  if (anchor.block_number === null) {
    return {
      tone: 'warn',
      title: 'Not verified yet',
      text: 'The proof was submitted and is not in a block yet.',
    };
  }
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0 && failed.every(({ name }) => name === 'evidence')) {
    return { tone: 'bad', title: 'Not verified', text: 'The evidence was changed.' };
  }
  return {
    tone: 'bad',
    title: 'Not verified',
    text: 'The chain differs from what the service states. The checks below show where.',
  };
}

/** Each check with its finding. */
export function Checks({ checks }: { checks: AuditCheck[] }) {
  return (
    <ul className="checks">
      {checks.map(({ name, ok, detail }) => (
        <li key={name} data-ok={ok}>
          <Icon name={ok ? 'check' : 'cross'} />
          <span>
            <span className="hidden">{ok ? 'Holds: ' : 'Fails: '}</span>
            {detail}
          </span>
        </li>
      ))}
    </ul>
  );
}
