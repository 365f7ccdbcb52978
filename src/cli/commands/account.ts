// `svc whoami`, `svc credits` and `svc account`: the account of the session.

import type { Column } from '../../base/output/output.ts';
import { showTime } from '../../base/output/table.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import { amountFormat } from '../output/amounts.ts';
import { type PageQuery, printPages, type Range } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { cursorOption, keyFileOptions, limitOption, yesOption } from '../program/options.ts';
import type { KeyFile } from '../sign-in/key-file.ts';
import { ownerSigner } from '../sign-in/owner-signer.ts';

export const whoamiCommand: CommandSpec = {
  path: 'whoami',
  summary:
    'Show the wallet, the service, the credits, when the session ends, and whether the wallet passes the token gate',
  examples: ['svc whoami', 'svc whoami --json | jq -r .wallet'],
  async run(context) {
    const { output, session } = context;
    const { client, url, profile } = await session();
    const { body } = await client.call('getAccount');
    const { wallet, gate, credits, limits } = body;
    const expires = profile?.expires_at ?? null;
    const name = profile?.name ?? null;
    const amount = await amountFormat(context);
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
  },
};

export const accountCommands: readonly CommandSpec[] = [
  {
    path: 'account export',
    summary: 'Write the data that the service stores for the account, as JSON lines',
    details:
      'Each line is an object {"kind": …, "record": …}, as in the HTTP API. The bundle of a verified task follows the task. Sessions, API keys, account tokens, and the secrets and messages of webhooks are left out. With --json, the whole export is one JSON object. The wallet must sign the export: svc prints a message on standard error and reads the signature, or signs with the key of --key-file. An account token (SVC_TOKEN) cannot export the account.',
    options: keyFileOptions,
    examples: ['svc account export > account.jsonl'],
    async run(context, input: Partial<KeyFile>) {
      const { output } = context;
      const owner = await openOwner(context, 'export');
      // Standard output is the export.
      const show = (message: string) => process.stderr.write(`${message}\n`);
      const body = await signAgain(context, owner, 'export_account', input, show);
      const lines = [];
      for await (const line of owner.client.exportAccount(body)) {
        if (output.asksJson) lines.push(line);
        else output.line(JSON.stringify(line));
      }
      if (output.asksJson) output.json({ lines });
    },
  },
  {
    path: 'account delete',
    summary: 'Delete the account with its robots, tasks and evidence, permanently',
    details:
      'The wallet must sign the deletion: svc prints a message and reads the signature, or signs with the key of --key-file. The credits, their ledger, the daily anchor counts of svc stats, a suspension, the ids of robots and tasks, and the anchors stay. After the deletion, the service no longer verifies the tasks. Existing bundles stay valid.',
    options: [...keyFileOptions, yesOption],
    examples: ['svc account delete', 'svc account delete --key-file ~/.keys/ops.json --yes'],
    async run(context, { yes = false, ...input }: Partial<KeyFile> & { yes?: boolean }) {
      const owner = await openOwner(context, 'delete');
      const { client, url, wallet } = owner;
      const consequence = `Deletes the account of ${wallet} at ${url} with its robots, tasks and evidence, permanently.`;
      if (!yes) await (await context.prompt()).confirm(wallet, consequence);
      const signed = await signAgain(context, owner, 'delete_account', input);
      const { body } = await client.call('deleteAccount', { body: signed });
      context.output.done(
        body,
        'The deletion has begun. Sessions, tokens and keys of the account no longer work.',
      );
    },
  },
];

/** The session, and the wallet of its account. Throws `insufficient_scope`. */
async function openOwner({ session }: Context, verb: string) {
  const { client, url, profile } = await session({ sessionOnly: true });
  if (profile === null) {
    throw new SvcError('insufficient_scope', `An account token cannot ${verb} the account.`, {
      hint: 'Unset SVC_TOKEN to use your session.',
    });
  }
  return { client, url, wallet: (await client.call('getAccount')).body.wallet };
}

/** Requests a challenge for the purpose, and has the wallet sign it. Throws `usage` for the key of another wallet. */
async function signAgain(
  context: Context,
  { url, wallet }: { url: string; wallet: string },
  purpose: 'export_account' | 'delete_account',
  input: Partial<KeyFile>,
  show?: (message: string) => void,
) {
  const { requestMessage } = await import('../sign-in/signature.ts');
  const signer = await ownerSigner(context, wallet, input, show);
  const message = await requestMessage(context.client(url), url, wallet, purpose);
  return { message, signature: await signer.sign(message) };
}

export const creditsCommand: CommandSpec = {
  path: 'credits',
  summary: 'Show the remaining credits of the account, or their ledger',
  options: [
    { flags: '--ledger', summary: 'list every change of the credits, newest first' },
    limitOption,
    cursorOption,
  ],
  examples: ['svc credits', 'svc credits --ledger --limit 200 > ledger.tsv'],
  async run(context, { ledger, ...range }: Range & { ledger?: true }) {
    const { call, output } = context;
    const amount = await amountFormat(context);
    if (ledger) {
      const read = (query: PageQuery) => call('listLedger', { query });
      return printPages(output, read, columnsOf(amount), range);
    }
    const left = (await call('getAccount')).body.credits;
    await output.record({ credits: left }, [
      ['anchor_quota', left.anchor_quota],
      ['gas_credit_wei', amount(left.gas_credit_wei)],
      ['anchors_affordable', left.anchors_affordable],
      ['low', left.low ? 'yes' : 'no'],
    ]);
  },
};

type LedgerEntry = Answer<'listLedger'>['body']['items'][number];

const columnsOf = (amount: (wei: string) => string): Column<LedgerEntry>[] => [
  { title: 'time', value: (e) => e.created_at, isTime: true },
  { title: 'kind', value: (e) => e.kind },
  { title: 'anchors', value: (e) => e.anchors },
  { title: 'gas_wei', value: (e) => e.gas_wei, shown: (e) => amount(e.gas_wei) },
  { title: 'task', value: (e) => e.task_id },
  { title: 'note', value: (e) => e.note, shrinks: true },
];
