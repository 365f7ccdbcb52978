// The service's statements about a proof.
import { chainText, utcTime } from '../../../proof/subject/verdict.ts';
import type { PublicVerification } from '../../../protocol/resources.ts';
import { Badge } from '../../ui/badge.tsx';
import { Fact, HexFact, TransactionFact } from '../../ui/card.tsx';
import type { Sender } from './identity.tsx';

interface ProofFactsProps {
  stated: PublicVerification;
  sender: Sender | null;
}

export function ProofFacts({ stated, sender }: ProofFactsProps) {
  const { task, anchor, proof_hash, occurrences, checked_at } = stated;
  return (
    <dl className="facts">
      <Fact name="Task">{task.title}</Fact>
      <Fact name="Robot">{task.robot}</Fact>
      <HexFact name="Proof hash" value={proof_hash} what="proof hash" />
      <TransactionFact anchor={anchor} />
      {anchor.anchored_at && (
        <Fact name="Anchored">
          {utcTime(anchor.anchored_at)}, block {anchor.block_number} of chain{' '}
          {chainText(anchor.chain_id)}
        </Fact>
      )}
      {sender && (
        <>
          <HexFact name="Sender" value={sender.address} what="address of the sender" />
          <Fact name="Identity">{sender.text}</Fact>
        </>
      )}
      {anchor.finality && (
        <Fact name="Finality">
          <Badge tone={anchor.finality === 'finalized' ? 'good' : 'busy'}>
            {anchor.finality === 'reorged' ? 'reorganized' : anchor.finality}
          </Badge>{' '}
          {anchor.confirmations && `${anchor.confirmations} confirmations`}
        </Fact>
      )}
      {anchor.inclusion && (
        <Fact name="Batch">
          leaf {anchor.inclusion.leaf_index + 1} of {anchor.inclusion.leaf_count}
        </Fact>
      )}
      {occurrences > 1 && (
        <Fact name="Tasks with this hash">{occurrences}, including this one</Fact>
      )}
      <Fact name="Checked">{utcTime(checked_at)}</Fact>
    </dl>
  );
}
