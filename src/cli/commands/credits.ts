import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output.ts';
import { readPages } from '../read-pages.ts';
import { showTime } from '../show-time.ts';
import { noteRest } from './tasks.ts';

type LedgerEntry = Answer<'listLedger'>['body']['items'][number];

interface CreditsInput {
  ledger?: true;
  limit: number;
  cursor?: string;
}

/** `svc credits` */
export async function credits(
  { session, output }: Context,
  { ledger, ...range }: CreditsInput,
): Promise<void> {
  const { client } = await session();
  if (ledger) {
    const page = await readPages((query) => client.call('listLedger', { query }), range);
    await output.table(page, page.items, columns);
    return noteRest(output, page);
  }
  const left = (await client.call('getAccount')).body.credits;
  await output.record({ credits: left }, [
    ['anchor_quota', left.anchor_quota],
    ['gas_credit_wei', left.gas_credit_wei],
    ['anchors_affordable', left.anchors_affordable],
    ['low', left.low ? 'yes' : 'no'],
  ]);
}

const columns: readonly Column<LedgerEntry>[] = [
  { title: 'time', value: (e) => e.created_at, shown: (e) => showTime(e.created_at) },
  { title: 'kind', value: (e) => e.kind },
  { title: 'anchors', value: (e) => e.anchors },
  { title: 'gas_wei', value: (e) => e.gas_wei },
  { title: 'task', value: (e) => e.task_id },
  { title: 'note', value: (e) => e.note, shrinks: true },
];
