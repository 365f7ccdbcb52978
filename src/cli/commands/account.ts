// `svc whoami` and `svc credits`: the account of the session.
import type { Answer } from '../../protocol/routes.ts';
import { amountFormat } from '../output/amounts.ts';
import type { Column } from '../output/output.ts';
import { noteRest, readPages } from '../output/pages.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { cursorOption, limitOption } from '../program/options.ts';

export const whoamiCommand: CommandSpec = {
  path: 'whoami',
  summary:
    'Show wallet, service, credits, end of the session, and whether the wallet passes the token gate',
  examples: ['svc whoami', 'svc whoami --json | jq -r .wallet'],
  run: whoami,
};

async function whoami({ session, output }: Context): Promise<void> {
  const { client, url, profile } = await session();
  const { body } = await client.call('getAccount');
  const { wallet, gate, credits, limits } = body;
  const expires = profile?.expires_at ?? null;
  const name = profile?.name ?? null;
  const amount = await amountFormat(client, output);
  const answer = { ...body, service: url, profile: name, expires_at: expires };
  await output.record(answer, [
    ['wallet', wallet],
    ['service', url],
    ['profile', name ?? 'none (SVC_TOKEN)'],
    ['expires', output.isTerminal ? showTime(expires) : expires],
    ['gate', !gate.required ? 'no requirement' : gate.holds ? 'met' : 'not met'],
    ['anchor_quota', credits.anchor_quota],
    ['gas_credit_wei', amount(credits.gas_credit_wei)],
    ['anchors_affordable', credits.anchors_affordable],
    ['robots', `${limits.robots.used} of ${limits.robots.max}`],
    ['fleets', `${limits.fleets.used} of ${limits.fleets.max}`],
  ]);
  if (credits.low) output.note('Credits are low. Ask the operator of the service for more.');
}

export const creditsCommand: CommandSpec = {
  path: 'credits',
  summary: 'Show the remaining anchoring credits, or their ledger',
  options: [
    { flags: '--ledger', summary: 'list every change, newest first' },
    limitOption,
    cursorOption,
  ],
  examples: ['svc credits', 'svc credits --ledger --limit 200 > ledger.tsv'],
  run: credits,
};

interface CreditsInput {
  ledger?: true;
  limit: number;
  cursor?: string;
}

async function credits(
  { session, output }: Context,
  { ledger, ...range }: CreditsInput,
): Promise<void> {
  const { client } = await session();
  const amount = await amountFormat(client, output);
  if (ledger) {
    const page = await readPages((query) => client.call('listLedger', { query }), range);
    await output.table(page, page.items, columnsOf(amount));
    return noteRest(output, page);
  }
  const left = (await client.call('getAccount')).body.credits;
  await output.record({ credits: left }, [
    ['anchor_quota', left.anchor_quota],
    ['gas_credit_wei', amount(left.gas_credit_wei)],
    ['anchors_affordable', left.anchors_affordable],
    ['low', left.low ? 'yes' : 'no'],
  ]);
}

type LedgerEntry = Answer<'listLedger'>['body']['items'][number];

const columnsOf = (amount: (wei: string) => string): Column<LedgerEntry>[] => [
  { title: 'time', value: (e) => e.created_at, shown: (e) => showTime(e.created_at) },
  { title: 'kind', value: (e) => e.kind },
  { title: 'anchors', value: (e) => e.anchors },
  { title: 'gas_wei', value: (e) => e.gas_wei, shown: (e) => amount(e.gas_wei) },
  { title: 'task', value: (e) => e.task_id },
  { title: 'note', value: (e) => e.note, shrinks: true },
];
