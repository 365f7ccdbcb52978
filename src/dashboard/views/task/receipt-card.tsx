// The receipt of a task, to copy or save.
import { Button, Group } from '@mantine/core';
import { Link } from 'wouter';
import type { Verification } from '../../../protocol/resources.ts';
import { dateAndTime } from '../../ui/time.tsx';
import { Hex, saveJson, VerifyCommand } from '../../ui/values.tsx';
import './task.css';

export function ReceiptCard({ verification }: { verification: Verification }) {
  const { proof_hash, task_id, inclusion } = verification;
  return (
    <section className="card" aria-labelledby="receipt">
      <Group justify="space-between" mb="sm">
        <h2 className="card-title" id="receipt">
          Receipt
        </h2>
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            component={Link}
            href={`/verify/${proof_hash}?task_id=${task_id}`}
          >
            Public page
          </Button>
          <Button
            size="xs"
            variant="default"
            onClick={() => saveJson(`receipt-${task_id}.json`, verification)}
          >
            Download receipt
          </Button>
        </Group>
      </Group>
      <dl className="facts">
        <dt>Block</dt>
        <dd>
          {verification.block_number} on chain {verification.chain_id}
        </dd>
        <dt>Anchored</dt>
        <dd>
          <time dateTime={verification.anchored_at}>{dateAndTime(verification.anchored_at)}</time>
        </dd>
        <dt>Claim hash</dt>
        <dd>
          <Hex value={verification.claim_hash} what="claim hash" />
        </dd>
        <dt>Anchored as</dt>
        <dd>
          {inclusion === null
            ? 'a single proof in its own transaction'
            : `leaf ${inclusion.leaf_index + 1} of ${inclusion.leaf_count} under one root`}
        </dd>
        {inclusion && (
          <>
            <dt>Root</dt>
            <dd>
              <Hex value={inclusion.root} what="root" />
            </dd>
            <dt>Path to the root</dt>
            <dd>
              <ol className="path" aria-label="Path to the root">
                {inclusion.path.map((hash) => (
                  <li key={hash}>
                    <Hex value={hash} what="hash of the path" />
                  </li>
                ))}
              </ol>
            </dd>
          </>
        )}
      </dl>
      <p className="hint">
        Verify it on the command line. With your own RPC endpoint, this needs no service:
      </p>
      <VerifyCommand subject={`receipt-${task_id}.json`} />
    </section>
  );
}
