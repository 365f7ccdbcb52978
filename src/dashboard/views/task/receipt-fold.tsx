// The hashes of a task, and its place in the tree of its anchor.
import type { Inclusion } from '../../../protocol/resources.ts';
import type { Reply } from '../../api.ts';
import { Fact, Fold, HexFact, TransactionFact } from '../../ui/card.tsx';
import { Ago, dateAndTime } from '../../ui/time.tsx';
import { counted, Hex, VerifyCommand } from '../../ui/values.tsx';

export function ReceiptFold({ task, anchor, verification }: Reply<'GET /api/v1/tasks/:id'>) {
  return (
    <Fold title="Hashes, root and path">
      <dl className="facts">
        <HexFact name="Task" value={task.id} what="task id" />
        {anchor && (
          <>
            <HexFact name="Proof hash" value={anchor.proof_hash} what="proof hash" />
            <TransactionFact anchor={anchor} />
            <Fact name="Last change">
              <Ago at={anchor.updated_at} /> · {counted(anchor.attempts, 'attempt')}
            </Fact>
          </>
        )}
        {verification && (
          <>
            <Fact name="Block">
              {verification.block_number} on chain {verification.chain_id},{' '}
              {dateAndTime(verification.anchored_at)}
            </Fact>
            <HexFact name="Claim hash" value={verification.claim_hash} what="claim hash" />
            <Place inclusion={verification.inclusion} />
          </>
        )}
      </dl>
      {verification && (
        <>
          <p className="hint">
            Verify it on the command line. With your own RPC endpoint, this needs no service:
          </p>
          <VerifyCommand subject={`receipt-${task.id}.json`} />
        </>
      )}
    </Fold>
  );
}

function Place({ inclusion }: { inclusion: Inclusion | null }) {
  if (inclusion === null) {
    return <Fact name="Anchored as">a single proof in its own transaction</Fact>;
  }
  const { leaf_index, leaf_count, root, path } = inclusion;
  return (
    <>
      <Fact name="Anchored as">
        leaf {leaf_index + 1} of {leaf_count} under one root
      </Fact>
      <HexFact name="Root" value={root} what="root" />
      <Fact name="Path to the root">
        <ol className="path" aria-label="Path to the root">
          {path.map((hash) => (
            <li key={hash}>
              <Hex value={hash} what="hash of the path" />
            </li>
          ))}
        </ol>
      </Fact>
    </>
  );
}
