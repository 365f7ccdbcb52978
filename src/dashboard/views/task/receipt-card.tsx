// The receipt of a task, to copy or save.
import { Button, Group } from '@mantine/core';
import { Link } from 'wouter';
import type { Verification } from '../../../protocol/resources.ts';
import { Card, Fact, HexFact } from '../../ui/card.tsx';
import { dateAndTime } from '../../ui/time.tsx';
import { Hex, saveJson, VerifyCommand } from '../../ui/values.tsx';
import './task.css';

export function ReceiptCard({ verification }: { verification: Verification }) {
  const { proof_hash, task_id, inclusion } = verification;
  return (
    <Card
      title="Receipt"
      actions={
        <Group gap="xs">
          <Button size="xs" component={Link} href={`/verify/${proof_hash}?task_id=${task_id}`}>
            Public page
          </Button>
          <Button size="xs" onClick={() => saveJson(`receipt-${task_id}.json`, verification)}>
            Download receipt
          </Button>
        </Group>
      }
    >
      <dl className="facts">
        <Fact name="Block">
          {verification.block_number} on chain {verification.chain_id}
        </Fact>
        <Fact name="Anchored">
          <time dateTime={verification.anchored_at}>{dateAndTime(verification.anchored_at)}</time>
        </Fact>
        <HexFact name="Claim hash" value={verification.claim_hash} what="claim hash" />
        <Fact name="Anchored as">
          {inclusion === null
            ? 'a single proof in its own transaction'
            : `leaf ${inclusion.leaf_index + 1} of ${inclusion.leaf_count} under one root`}
        </Fact>
        {inclusion && (
          <>
            <HexFact name="Root" value={inclusion.root} what="root" />
            <Fact name="Path to the root">
              <ol className="path" aria-label="Path to the root">
                {inclusion.path.map((hash) => (
                  <li key={hash}>
                    <Hex value={hash} what="hash of the path" />
                  </li>
                ))}
              </ol>
            </Fact>
          </>
        )}
      </dl>
      <p className="hint">
        Verify it on the command line. With your own RPC endpoint, this needs no service:
      </p>
      <VerifyCommand subject={`receipt-${task_id}.json`} />
    </Card>
  );
}
