// Shows who sent an anchor, what the service states about that account, and what a verification does not prove.
import type { ChainFacts } from '../../../proof/audit-anchor.ts';
import type { Bundle } from '../../../proof/bundle.ts';
import { UNPROVEN_OF_SIGNED } from '../../../proof/subject/verdict.ts';
import type { AnchorsList } from '../../../protocol/anchoring-accounts.ts';
import type { PublicVerification } from '../../../protocol/resources.ts';
import { reading } from '../../queries.ts';
import { Card } from '../../ui/card.tsx';

export const anchorsListQuery = {
  ...reading(['anchors-list'], 'GET /.well-known/svc-anchors.json'),
  refetchInterval: false as const,
};

export type Sender = NonNullable<ReturnType<typeof senderOf>>;

/**
 * The sender as the chain has it, whether the service lists it, and what the service states about it. Null while there
 * is no transaction.
 */
export function senderOf({ chain_id, tx, receipt }: ChainFacts, list: AnchorsList) {
  if (tx === null) return null;
  const address = tx.from;
  const entry = list.accounts.find(
    (one) => one.chain_id === chain_id && one.address.toLowerCase() === address.toLowerCase(),
  );
  if (entry === undefined) {
    return { address, standing: 'unlisted', text: 'Not in the list of this service' } as const;
  }
  const { first_block, last_block } = entry;
  if (last_block === null) {
    const text = `This service states that it is its account, used since block ${first_block}`;
    return { address, standing: 'listed', text } as const;
  }
  const isBefore = receipt !== null && BigInt(receipt.block_number) <= BigInt(last_block);
  return {
    address,
    standing: isBefore ? 'listed' : 'retired',
    text: `This service states that it was its account from block ${first_block} to block ${last_block}`,
  } as const;
}

/** What no check of a certificate covers. */
export const UNPROVEN = [
  'That what the evidence says is true.',
  'That the chain has this anchor, if you do not trust the service that read it: run the command with your own node.',
  'The author of the evidence, and that no other anchor exists.',
  'That the sender is the account of the issuer: only the issuer states it.',
];

interface UnprovenProps {
  stated: PublicVerification;
  bundle: Bundle | null;
}

/** Names what no check covers, as `svc verify` does. */
export function Unproven({ stated, bundle }: UnprovenProps) {
  const { task, occurrences } = stated;
  const title = bundle === null ? ` and the task’s title “${task.title}”` : '';
  return (
    <Card title="What this does not prove">
      <ul>
        <li>That what the evidence says is true.</li>
        <li>
          That the chain has this anchor, if you do not trust this service: it read the chain for
          this page. <code>svc verify --rpc-url</code> reads it from your own node.
        </li>
        {bundle?.signing ? (
          <li>T{UNPROVEN_OF_SIGNED.slice(1)}, that no other anchor exists.</li>
        ) : (
          <li>
            The identity of the robot{bundle === null ? '' : ' (unsigned)'}, the author of the
            evidence, that no other anchor exists.
          </li>
        )}
        <li>
          That the sender is the account of this service: only the service states it. Compare the
          address with one from another source, or use <code>svc trust add</code>.
        </li>
        <li>
          Stated, not proven: the robot’s name “{bundle?.task.robot_name ?? task.robot}”{title}.
        </li>
        {occurrences > 1 && (
          <li>Which task is meant: {occurrences} tasks have this hash. A bundle names its task.</li>
        )}
      </ul>
    </Card>
  );
}
