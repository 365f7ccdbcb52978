// What a verification found, in one sentence for readers without knowledge of chains.
import './verify.css';
import type { ReactNode } from 'react';
import type { ChainFacts } from '../../../proof/audit-anchor.ts';
import { type AuditCheck, isProven } from '../../../proof/audit-check.ts';
import type { ChainDetails, PublicVerification } from '../../../protocol/resources.ts';
import { Icon } from '../../ui/icon.tsx';
import { minuteInUtc } from '../../ui/time.tsx';
import type { Sender } from './identity.tsx';

interface VerdictText {
  tone: string;
  title: string;
  text: ReactNode;
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
  return refutation(
    checks,
    'The chain differs from what the document or the service states. The checks below show where.',
  );
}

export function refutation(checks: readonly AuditCheck[], text: string): VerdictText {
  const failed = checks.filter(({ ok }) => !ok);
  const isEvidence = failed.length > 0 && failed.every(({ name }) => name === 'evidence');
  return {
    tone: 'bad',
    title: 'Not verified',
    text: isEvidence ? 'The evidence was changed.' : text,
  };
}

const RETIRED =
  'The account that sent it was retired before: it is later than the last block of the account.';

/** The verdict of an anchor that the chain contains, by the standing of its sender. */
function provenVerdict(
  { stated, read, sender, hasEvidence, chain }: Facts,
  standing: Sender['standing'],
): VerdictText {
  if (standing === 'retired') return { tone: 'bad', title: 'Not verified', text: RETIRED };
  const isListed = standing === 'listed';
  const { address = '' } = sender ?? {};
  const text = [
    `${hasEvidence ? 'This evidence' : 'The evidence with this hash'} has not changed since ${minuteInUtc(read.canonical_block?.timestamp ?? '')}.`,
    `Anchored by ${address.slice(0, 6)}…${address.slice(-4)}, ${isListed ? 'the published account' : 'not a published account'} of ${window.location.host}.`,
    stated.anchor.finality !== 'finalized' &&
      'The block is not final yet: a chain reorganization could still remove it.',
    chain?.testnet && `The chain, ${chain.name}, is a test network.`,
  ];
  return {
    tone: isListed ? 'good' : 'warn',
    title: isListed ? 'Verified' : 'Anchored by an unknown account',
    text: text.filter(Boolean).join(' '),
  };
}
