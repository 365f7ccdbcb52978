// An anchoring transaction as the chain holds it.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'wouter';
import { decodePayload } from '../../proof/payload.ts';
import type { AnchorTransaction } from '../../protocol/resources.ts';
import { ask, ServiceError } from '../api.ts';
import { Badge } from '../ui/badge.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
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
  const query = useQuery({
    queryKey: ['transaction', txHash],
    queryFn: ({ signal }) =>
      ask('GET /api/v1/transactions/:txHash', { params: { txHash }, signal }),
  });
  const { data, error } = query;
  if (data !== undefined) return <Cards transaction={data} />;
  if (error instanceof ServiceError && error.status < 500 && error.status >= 400) {
    return (
      <Empty title="Not a transaction of this service">
        Only transactions that anchor proofs of this service are shown.
      </Empty>
    );
  }
  if (error) return <Failure error={error} onRetry={query.refetch} />;
  return <Loading what="transaction" />;
}

function Cards({ transaction }: { transaction: AnchorTransaction }) {
  const { chain_id, tx, receipt, canonical_block: block, confirmations, finality } = transaction;
  if (tx === null) {
    return <Empty title="Transaction not found">It was dropped, or has not arrived yet.</Empty>;
  }
  return (
    <>
      <section className="card" aria-labelledby="transaction">
        <h2 className="card-title" id="transaction">
          Transaction
        </h2>
        <dl className="facts">
          <dt>Hash</dt>
          <dd>
            <Hex value={tx.hash} what="transaction hash" />
          </dd>
          <dt>Status</dt>
          <dd>
            {receipt === null ? (
              <Badge tone="busy">waiting to be included</Badge>
            ) : (
              <Badge tone={receipt.status === 'success' ? 'good' : 'bad'}>{receipt.status}</Badge>
            )}{' '}
            {finality && (
              <Badge tone={finality === 'finalized' ? 'good' : 'busy'}>{finality}</Badge>
            )}
          </dd>
          {receipt && (
            <>
              <dt>Block</dt>
              <dd>
                {receipt.block_number} of chain {chain_id}
                {confirmations && `, ${confirmations} confirmations`}
              </dd>
            </>
          )}
          {block && (
            <>
              <dt>Time</dt>
              <dd>{dateAndTime(block.timestamp)}</dd>
            </>
          )}
          <dt>From</dt>
          <dd>
            <Hex value={tx.from} what="sender" />
          </dd>
          <dt>To</dt>
          <dd>{tx.to === tx.from ? 'itself' : tx.to}</dd>
          <dt>Value</dt>
          <dd>{tx.value} wei</dd>
        </dl>
      </section>
      <Payload calldata={tx.input} />
    </>
  );
}

function Payload({ calldata }: { calldata: string }) {
  const payload = decodePayload(calldata);
  return (
    <section className="card" aria-labelledby="payload">
      <h2 className="card-title" id="payload">
        Anchored content
      </h2>
      {payload === null && <p>The calldata is not an anchor.</p>}
      {payload?.kind === 'single' && (
        <dl className="facts">
          <dt>Kind</dt>
          <dd>single proof</dd>
          <dt>Proof hash</dt>
          <dd>
            <Hex value={payload.proof_hash} what="proof hash" />{' '}
            <Link href={`/verify/${payload.proof_hash}`}>Verify it</Link>
          </dd>
          <dt>Leaf</dt>
          <dd>
            <Hex value={payload.leaf} what="leaf" />
          </dd>
        </dl>
      )}
      {payload?.kind === 'batch' && (
        <dl className="facts">
          <dt>Kind</dt>
          <dd>{payload.leaf_count} proofs under one root</dd>
          <dt>Root</dt>
          <dd>
            <Hex value={payload.root} what="root" />
          </dd>
        </dl>
      )}
      <h3 className="card-title sub-title">Calldata</h3>
      <div className="json">
        <pre>{calldata}</pre>
      </div>
    </section>
  );
}
