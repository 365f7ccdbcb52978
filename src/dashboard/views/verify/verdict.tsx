// What a verification found, in one sentence for readers without knowledge of chains.
import './verify.css';
import type { ChainFacts } from '../../../proof/audit-anchor.ts';
import { type AuditCheck, isProven } from '../../../proof/audit-check.ts';
import {
  NOT_ANCHORED,
  NOT_FINAL,
  REORGANIZED,
  reasonsOf,
  unchangedSince,
} from '../../../proof/subject/verdict.ts';
import type { ChainDetails, PublicVerification } from '../../../protocol/resources.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Sender } from './identity.tsx';

interface VerdictText {
  tone: string;
  title: string;
  text: string;
}

export function Verdict({ tone, title, text }: VerdictText) {
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

interface Facts {
  stated: PublicVerification;
  read: ChainFacts;
  checks: AuditCheck[];
  sender: Sender | null;
  /** Whether the evidence itself was hashed here. */
  hasEvidence: boolean;
  chain: ChainDetails | undefined;
}

export function verdictOf(facts: Facts): VerdictText {
  const { stated, checks, sender } = facts;
  const { verified, anchor } = stated;
  if (verified && isProven(checks)) return provenVerdict(facts, sender?.standing ?? 'unlisted');
  if (anchor.finality === 'reorged') {
    return { tone: 'warn', title: 'Not verified now', text: REORGANIZED };
  }
  if (anchor.block_number === null) {
    return { tone: 'warn', title: 'Not verified yet', text: NOT_ANCHORED };
  }
  return refutation(isProven(checks) ? [{ name: 'service', ok: false }] : checks);
}

export function refutation(checks: Parameters<typeof reasonsOf>[0]): VerdictText {
  return { tone: 'bad', title: 'Not verified', text: reasonsOf(checks).join(' ') };
}

/** The verdict of an anchor that the chain contains, by the standing of its sender. */
function provenVerdict(
  { stated, read, sender, hasEvidence, chain }: Facts,
  standing: Sender['standing'],
): VerdictText {
  if (standing === 'retired') return refutation([{ name: 'sender', ok: false }]);
  const isListed = standing === 'listed';
  const { address = '' } = sender ?? {};
  const text = [
    unchangedSince(read.canonical_block?.timestamp ?? '', { evidence: hasEvidence }),
    `Anchored by ${address.slice(0, 6)}…${address.slice(-4)}, ${isListed ? 'the published account' : 'not a published account'} of ${window.location.host}.`,
    stated.anchor.finality !== 'finalized' && NOT_FINAL,
    chain?.testnet && `The chain, ${chain.name}, is a test network.`,
  ];
  return {
    tone: isListed ? 'good' : 'warn',
    title: isListed ? 'Verified' : 'Anchored by an unknown account',
    text: text.filter(Boolean).join(' '),
  };
}
