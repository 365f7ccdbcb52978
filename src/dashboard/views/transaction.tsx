// An anchoring transaction as the chain holds it.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'wouter';
import { decodePayload } from '../../proof/payload.ts';
import type { AnchorTransaction } from '../../protocol/resources.ts';
import { ServiceError } from '../api.ts';
import { transactionQuery } from '../queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Fact, HexFact } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Waiting } from '../ui/states.tsx';
import { dateAndTime } from '../ui/time.tsx';
import { Hex, shorten } from '../ui/values.tsx';

/** For chains without an explorer. */
export default function Transaction() {
  const { txHash = '' } = useParams();
  return (
    <Page title={`Transaction ${shorten(txHash)}`} lead="Read from the chain through this service.">
      <Body txHash={txHash} />
    </Page>
  );
}

function Body({ txHash }: { txHash: string }) {
  const query = useQuery(transactionQuery(txHash));
  const { data, error } = query;
  if (data !== undefined) return <Cards transaction={data} />;
  if (error instanceof ServiceError && error.status < 500 && error.status >= 400) {
    return (
      <Empty title="Not a transaction of this service">
        Only transactions that anchor proofs of this service are shown.
      </Empty>
    );
  }
  return <Waiting query={query} what="transaction" />;
}

function Cards({ transaction }: { transaction: AnchorTransaction }) {
  const { chain_id, tx, receipt, canonical_block: block, confirmations, finality } = transaction;
  if (tx === null) {
    return <Empty title="Transaction not found">It was dropped, or has not arrived yet.</Empty>;
  }
  return (
    <>
      <Card title="Transaction">
        <dl className="facts">
          <HexFact name="Hash" value={tx.hash} what="transaction hash" />
          <Fact name="Status">
            {receipt === null ? (
              <Badge tone="busy">waiting to be included</Badge>
            ) : (
              <Badge tone={receipt.status === 'success' ? 'good' : 'bad'}>{receipt.status}</Badge>
            )}{' '}
            {finality && (
              <Badge tone={finality === 'finalized' ? 'good' : 'busy'}>{finality}</Badge>
            )}
          </Fact>
          {receipt && (
            <Fact name="Block">
              {receipt.block_number} of chain {chain_id}
              {confirmations && `, ${confirmations} confirmations`}
            </Fact>
          )}
          {block && <Fact name="Time">{dateAndTime(block.timestamp)}</Fact>}
          <HexFact name="From" value={tx.from} what="sender" />
          <Fact name="To">{tx.to === tx.from ? 'itself' : tx.to}</Fact>
          <Fact name="Value">{tx.value} wei</Fact>
        </dl>
      </Card>
      <Payload calldata={tx.input} />
    </>
  );
}

function Payload({ calldata }: { calldata: string }) {
  const payload = decodePayload(calldata);
  return (
    <Card title="Anchored content">
      {payload === null && <p>The calldata is not an anchor.</p>}
      {payload?.kind === 'single' && (
        <dl className="facts">
          <Fact name="Kind">single proof</Fact>
          <Fact name="Proof hash">
            <Hex value={payload.proof_hash} what="proof hash" />{' '}
            <Link href={`/verify/${payload.proof_hash}`}>Verify it</Link>
          </Fact>
          <HexFact name="Leaf" value={payload.leaf} what="leaf" />
        </dl>
      )}
      {payload?.kind === 'batch' && (
        <dl className="facts">
          <Fact name="Kind">{payload.leaf_count} proofs under one root</Fact>
          <HexFact name="Root" value={payload.root} what="root" />
        </dl>
      )}
      <h3 className="card-title sub-title">Calldata</h3>
      <div className="json">
        <pre>{calldata}</pre>
      </div>
    </Card>
  );
}
