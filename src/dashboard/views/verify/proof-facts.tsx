// The service's statements about a proof.
import type { PublicVerification } from '../../../protocol/resources.ts';
import { Badge } from '../../ui/badge.tsx';
import { Ago, dateAndTime } from '../../ui/time.tsx';
import { Hex } from '../../ui/values.tsx';
import { type Sender, SenderFacts } from './identity.tsx';

/** The chain id of local Anvil and Hardhat chains. */
const TEST_CHAIN = 31_337;

export function ProofFacts({
  stated,
  sender,
}: {
  stated: PublicVerification;
  sender: Sender | null;
}) {
  const { task, anchor, proof_hash, occurrences, checked_at } = stated;
  return (
    <section className="card" aria-labelledby="stated">
      <h2 className="card-title" id="stated">
        {task.title}
      </h2>
      <dl className="facts">
        <dt>Robot</dt>
        <dd>{task.robot}</dd>
        <dt>Proof hash</dt>
        <dd>
          <Hex value={proof_hash} what="proof hash" />
        </dd>
        {anchor.tx_hash && (
          <>
            <dt>Transaction</dt>
            <dd>
              <Hex value={anchor.tx_hash} what="transaction hash" />{' '}
              {anchor.explorer_url && <a href={anchor.explorer_url}>Open in the explorer</a>}
            </dd>
          </>
        )}
        {anchor.anchored_at && (
          <>
            <dt>Anchored</dt>
            <dd>
              {dateAndTime(anchor.anchored_at)}, block {anchor.block_number} of chain{' '}
              {anchor.chain_id}
              {anchor.chain_id === TEST_CHAIN && ', a test chain'}
            </dd>
          </>
        )}
        {sender && <SenderFacts sender={sender} />}
        {anchor.finality && (
          <>
            <dt>Finality</dt>
            <dd>
              <Badge tone={anchor.finality === 'finalized' ? 'good' : 'busy'}>
                {anchor.finality === 'reorged' ? 'reorganized' : anchor.finality}
              </Badge>{' '}
              {anchor.confirmations && `${anchor.confirmations} confirmations`}
            </dd>
          </>
        )}
        {anchor.inclusion && (
          <>
            <dt>Batch</dt>
            <dd>
              leaf {anchor.inclusion.leaf_index + 1} of {anchor.inclusion.leaf_count}
            </dd>
          </>
        )}
        {occurrences > 1 && (
          <>
            <dt>Tasks with this hash</dt>
            <dd>{occurrences}, including this one</dd>
          </>
        )}
        <dt>Checked</dt>
        <dd>
          <Ago at={checked_at} />
        </dd>
      </dl>
    </section>
  );
}
