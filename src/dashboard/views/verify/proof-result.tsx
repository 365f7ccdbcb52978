// Checks a subject in the browser and shows the verdict.
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { auditAnchor, type ChainFacts, type StatedAnchor } from '../../../proof/audit-anchor.ts';
import { type AuditCheck, isProven } from '../../../proof/audit-check.ts';
import { compareFiles, type GivenFile, listedFiles } from '../../../proof/files/manifest.ts';
import { hashProof } from '../../../proof/hash.ts';
import type { SigningReport } from '../../../proof/statements/audit-signing.ts';
import { type Subject, subjectOfCalldata } from '../../../proof/subject/subject.ts';
import { signedBy } from '../../../proof/subject/verdict.ts';
import type { PublicVerification } from '../../../protocol/resources.ts';
import { ask, ServiceError } from '../../api.ts';
import { chainQuery, transactionQuery } from '../../queries.ts';
import { Fold } from '../../ui/card.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Hex, VerifyCommand } from '../../ui/values.tsx';
import type { GivenAudit } from './audit-given.ts';
import { CertificateCard } from './certificate.tsx';
import { Checks } from './checks.tsx';
import { anchorsListQuery, senderOf, UNPROVEN, Unproven } from './identity.tsx';
import { ListedFiles } from './listed-files.tsx';
import { ProofFacts } from './proof-facts.tsx';
import { refutation, Verdict, verdictOf } from './verdict.tsx';
import { Work } from './work.tsx';

interface ProofResultProps {
  subject: Subject;
  /** Whether to say what the subject was recognized as. */
  isNamed?: boolean;
  /** Where to give the document of a hash, directly under the verdict. */
  drop?: ReactNode;
}

const nothing: GivenAudit = { signing: null, alone: [], onChain: () => [] };

/** Checks a subject in this browser: alone, then against the chain's data, which the service reads from its node. */
export function ProofResult({ subject, isNamed = true, drop }: ProofResultProps) {
  const { bundle, proof } = subject;
  const evidenceHash = useMemo(() => proof && hashProof(proof), [proof]);
  const audit = useQuery({
    queryKey: ['audit', { ...bundle, proof: evidenceHash }],
    queryFn: async () =>
      bundle === null ? nothing : (await import('./audit-given.ts')).auditGiven(bundle),
    // Without a bundle there is nothing to wait for.
    ...(bundle === null && { enabled: false, initialData: nothing }),
  });
  const { alone, signing } = audit.data ?? nothing;
  const isSound = audit.isSuccess && alone.every(({ ok }) => ok);
  // The service is not asked about a document whose own checks fail.
  const { data } = useVerification(subject, isSound);
  const [given, setGiven] = useState<readonly GivenFile[]>([]);
  const listed = listedFiles(proof);
  const files = typeof listed === 'string' ? [] : compareFiles(listed, given);
  const isOther = files.some(({ status }) => status === 'differs' || status === 'not_listed');
  const kind = data?.kind ?? subject.kind;
  if (audit.isError) return <Failure error={audit.error} onRetry={audit.refetch} />;
  if (audit.isPending) return <Loading what="signatures" />;
  const compared =
    files.length > 0 ? (
      <ListedFiles files={files} onGiven={(file) => setGiven((all) => [...all, file])} />
    ) : (
      proof === null && drop
    );
  return (
    <>
      {isSound && !isOther ? (
        <ChainResult subject={subject} audit={audit.data} below={compared} />
      ) : (
        <>
          <Verdict {...refutation(isOther ? [...alone, { name: 'file', ok: false }] : alone)} />
          {compared}
        </>
      )}
      {(isNamed || kind !== 'proof hash') && (
        <Recognized subject={{ ...subject, kind }} alone={alone} signing={signing} />
      )}
    </>
  );
}

interface RecognizedProps {
  subject: Subject;
  alone: AuditCheck[];
  signing: SigningReport | null;
}

function Recognized({ subject, alone, signing }: RecognizedProps) {
  const { kind, proofHash, bundle, underflows = [] } = subject;
  return (
    <section className="card" aria-label="Recognized" role="status">
      <h2 className="card-title">Recognized as {kind}</h2>
      {kind === 'evidence' && (
        <p className="hint">
          Hashed in this browser: <Hex value={proofHash} what="proof hash" />
        </p>
      )}
      {bundle && (
        <p className="hint">For “{bundle.claim.title}”, checked in this browser without a chain:</p>
      )}
      {signing !== null &&
        isProven(alone) &&
        signedBy(signing).map((text) => (
          <p className="hint" key={text}>
            {text}
          </p>
        ))}
      {underflows.map((pointer) => (
        <p className="hint" key={pointer}>
          The number at {pointer} is too small for a double and counts as 0.
        </p>
      ))}
      <Checks checks={alone} />
    </section>
  );
}

interface ChainResultProps {
  subject: Subject;
  audit: GivenAudit;
  /** Directly under the verdict. */
  below: ReactNode;
}

function ChainResult({ subject, audit, below }: ChainResultProps) {
  const verification = useVerification(subject);
  const { stated } = verification.data ?? {};
  const txHash = subject.stated?.tx_hash ?? stated?.anchor.tx_hash ?? undefined;
  const facts = useQuery({
    ...transactionQuery(txHash ?? ''),
    enabled: txHash !== undefined,
  });
  const list = useQuery(anchorsListQuery);
  const chain = useQuery(chainQuery);
  if (isUnknown(verification.error)) {
    return (
      <Empty title="No proof with this hash was anchored here">
        Evidence that differs in one character has another hash. Proofs of deleted robots can no
        longer be looked up; a bundle still proves them with <code>svc verify</code>.
      </Empty>
    );
  }
  const failed = [verification, list, facts].find(({ error }) => error && !isUnknown(error));
  if (failed?.error instanceof AmbiguousError) {
    return <Empty title="This names no proof">{failed.error.message}</Empty>;
  }
  if (failed?.error) return <Failure error={failed.error} onRetry={failed.refetch} />;
  if (stated === undefined || list.data === undefined || facts.isLoading) {
    return <Loading what="proof" />;
  }
  const read: ChainFacts = (facts.data as ChainFacts | undefined) ?? {
    chain_id: stated.anchor.chain_id,
    tx: null,
    receipt: null,
    canonical_block: null,
  };
  const sender = senderOf(read, list.data);
  // Without a block there is nothing to check, unless a document states one.
  const isPending = stated.anchor.block_number === null || stated.anchor.finality === 'reorged';
  // A document is checked instead of the service's statements.
  const audited = () =>
    subject.bundle !== null
      ? audit.onChain(read)
      : auditAnchor(subject.stated ?? statedBy(stated), read);
  const checks = subject.stated === null && isPending ? [] : audited();
  const failures = checks.filter(({ ok }) => !ok).length;
  const hasEvidence = subject.proof !== null;
  const verdict = verdictOf({ stated, read, checks, sender, hasEvidence, chain: chain.data });
  return (
    <>
      <Verdict {...verdict} />
      {below}
      {isProven(checks) && (
        <>
          <Work subject={subject} />
          <Unproven stated={stated} bundle={subject.bundle} />
          <CertificateCard
            certificate={{
              result: verdict.tone === 'good' ? 'verified' : 'refuted',
              verdict: [verdict.title, verdict.text],
              checkedAt: stated.checked_at,
              stated: {
                ...(subject.stated ?? statedBy(stated)),
                ...(sender && { from: sender.address }),
              },
              blockHash: read.receipt?.block_hash ?? null,
              claim: subject.bundle?.claim ?? null,
              proof: subject.proof,
              unproven: {
                ...(subject.bundle === null && { title: stated.task.title }),
                robot_name: stated.task.robot,
              },
              issuer: `${window.location.host}: ${sender?.text}`,
              accounts: list.data.accounts.map(({ address }) => address),
              checks,
              notProven: UNPROVEN,
              command: `svc verify ${stated.proof_hash} --rpc-url URL --url ${window.location.origin}`,
              address: `${window.location.origin}/verify/${stated.proof_hash}?task_id=${stated.task.id}`,
            }}
          />
        </>
      )}
      <Fold title="Details">
        <ProofFacts stated={stated} sender={sender} />
      </Fold>
      {checks.length > 0 && (
        <Fold
          title={`Checks, made in this browser: ${failures === 0 ? `all ${checks.length} hold` : `${failures} of ${checks.length} fail`}`}
          isOpen={failures > 0}
        >
          <Checks checks={checks} />
          <p className="hint">
            The chain was read through this service. To rely on your own node instead, run:
          </p>
          <VerifyCommand subject={stated.proof_hash} />
        </Fold>
      )}
    </>
  );
}

/** The hash of a transaction with several proofs, or of one of several with the same proof. */
class AmbiguousError extends Error {}

/**
 * What the service states about a subject. A hash that no proof has may be that of an anchoring transaction: then the
 * statement is about its proof.
 */
export function useVerification(subject: Subject, enabled = true) {
  const { kind, proofHash, taskId } = subject;
  return useQuery({
    queryKey: ['verification', kind, proofHash, taskId],
    queryFn: async ({ signal }) => {
      try {
        return { kind, stated: await verify(subject, signal) };
      } catch (error) {
        if (!isUnknown(error) || kind !== 'proof hash') throw error;
        const found = await subjectOfTransaction(proofHash, signal);
        if (found === null) throw error;
        const stated = await verify(found, signal);
        if (stated.anchor.tx_hash === proofHash) return { kind: found.kind, stated };
        throw new AmbiguousError('The proof of this transaction is anchored in another one too.');
      }
    },
    enabled,
  });
}

async function verify(
  { proofHash, taskId }: Subject,
  signal: AbortSignal,
): Promise<PublicVerification> {
  const params = { proofHash };
  const query = taskId === null ? {} : { task_id: taskId };
  const stated = await ask('GET /api/v1/verify/:proofHash', { params, query, signal });
  const isSame = stated.proof_hash === proofHash && (taskId ?? stated.task.id) === stated.task.id;
  if (isSame) return stated;
  throw new ServiceError('unexpected', 'The service answered about another proof.');
}

/** Null for a transaction without an anchor. Rejects as unknown if the service knows no such transaction. */
async function subjectOfTransaction(txHash: string, signal: AbortSignal): Promise<Subject | null> {
  const { tx } = await ask('GET /api/v1/transactions/:txHash', { params: { txHash }, signal });
  const found = subjectOfCalldata(tx?.input ?? '0x');
  if (typeof found !== 'number') return found;
  throw new AmbiguousError(
    `It is the transaction of a batch of ${found} proofs. Give the hash, the receipt or the bundle of one of them.`,
  );
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found';
}

function statedBy({ proof_hash, task, anchor }: PublicVerification): StatedAnchor {
  return {
    chain_id: anchor.chain_id,
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: task.claim_hash,
    statement_hash: task.statement_hash ?? null,
    inclusion: anchor.inclusion as StatedAnchor['inclusion'],
    tx_hash: anchor.tx_hash ?? '',
    block_number: anchor.block_number ?? undefined,
    anchored_at: anchor.anchored_at ?? undefined,
    from: anchor.from ?? undefined,
  };
}
