// `svc webhooks`: HTTPS endpoints that get messages about the account.
import { InvalidArgumentError } from 'commander';
import { formatJson } from '../../base/escape.ts';
import type { Field } from '../../base/output/fields.ts';
import type { Column, Output } from '../../base/output/output.ts';
import { readPrivateFile } from '../../base/private-file.ts';
import { SvcError } from '../../base/svc-error.ts';
import { type Webhook, webhookEvents } from '../../protocol/webhooks.ts';
import type { Context } from '../context.ts';
import { pickOne, UUID } from '../input/find.ts';
import type { Received } from '../input/webhook-receiver.ts';
import { printPages, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { type ArgumentSpec, cursorOption, limitOption, yesOption } from '../program/options.ts';

type WebhookTypes = Webhook['events'];

const types = Object.keys(webhookEvents);
const webhookArgument: ArgumentSpec = {
  syntax: '<webhook>',
  summary: 'id, start of an id, or exact URL',
};
const eventOption = {
  flags: '--event <type...>',
  summary: 'types of messages',
  completes: types,
  member: 'events',
};

interface Named {
  webhook: string;
}

interface UpdateInput extends Named {
  to?: string;
  event?: WebhookTypes;
  enable?: true;
  disable?: true;
}

export const webhookCommands: readonly CommandSpec[] = [
  {
    path: 'webhooks create',
    summary: 'Create a webhook and show its secret one time',
    details:
      'Without --event, the webhook gets messages of all types. svc prints only the secret to standard output.',
    arguments: [
      { syntax: '<url>', summary: 'an https URL; for svc-server dev, also http://127.0.0.1:PORT/' },
    ],
    options: [eventOption],
    examples: ['svc webhooks create https://ops.example.org/svc --event alert.opened alert.closed'],
    async run(
      { call, output },
      { url, event = types as WebhookTypes }: { url: string; event?: WebhookTypes },
    ) {
      showSecret(output, (await call('createWebhook', { body: { url, events: event } })).body);
    },
  },
  {
    path: 'webhooks list',
    summary: 'List the webhooks, newest first',
    examples: ['svc webhooks list'],
    async run(context) {
      const page = await allWebhooks(context);
      await context.output.table(page, page.items, [
        { title: 'id', value: (w) => w.id },
        { title: 'url', value: (w) => w.url, shrinks: true },
        { title: 'events', value: (w) => w.events.join(', '), shrinks: true },
        { title: 'state', value: stateOf },
      ]);
    },
  },
  {
    path: 'webhooks update',
    summary: 'Change, enable or disable a webhook',
    arguments: [webhookArgument],
    options: [
      { flags: '--to <url>', summary: 'new https URL of the webhook', member: 'url' },
      eventOption,
      {
        flags: '--enable',
        summary: 'resume sending; abandoned messages stay unsent until you replay them',
      },
      { flags: '--disable', summary: 'stop sending, and abandon the waiting messages' },
    ],
    examples: ['svc webhooks update https://ops.example.org/svc --enable'],
    async run(context, { webhook, to, event, enable, disable }: UpdateInput) {
      if (enable && disable) {
        throw new SvcError('usage', '--enable and --disable exclude each other.');
      }
      const changes = {
        ...(to !== undefined && { url: to }),
        ...(event && { events: event }),
        ...((enable || disable) && { enabled: enable === true }),
      };
      if (Object.keys(changes).length === 0) {
        const message = 'Nothing to change. Give --to, --event, --enable or --disable.';
        throw new SvcError('usage', message);
      }
      const { id } = await findWebhook(context, webhook);
      const { body } = await context.call('patchWebhook', { params: { id }, body: changes });
      await context.output.record(body, fieldsOf(body.webhook));
    },
  },
  {
    path: 'webhooks rotate-secret',
    summary:
      'Issue a new secret and show the secret one time. For 24 hours, each message has a signature with the old secret and one with the new secret',
    details: 'svc prints only the secret to standard output.',
    arguments: [webhookArgument],
    examples: ['svc webhooks rotate-secret 01a1fa88'],
    async run(context, { webhook }: Named) {
      const { id } = await findWebhook(context, webhook);
      const { body } = await context.call('rotateWebhookSecret', { params: { id } });
      showSecret(context.output, body);
    },
  },
  {
    path: 'webhooks delete',
    summary: 'Delete a webhook and all its messages',
    arguments: [webhookArgument],
    options: [yesOption],
    examples: ['svc webhooks delete 01a1fa88'],
    async run(context, { webhook, yes = false }: Named & { yes?: boolean }) {
      const { call, output, prompt } = context;
      const { id, url } = await findWebhook(context, webhook);
      const consequence = `Deletes the webhook ${output.quote(url)} with its secret and all its messages.`;
      if (!yes) await (await prompt()).agree(consequence);
      const { body } = await call('deleteWebhook', { params: { id } });
      output.done(body, `Deleted the webhook ${output.quote(url)}.`);
    },
  },
  {
    path: 'webhooks test',
    summary: 'Send a test message to a webhook',
    arguments: [webhookArgument],
    examples: ['svc webhooks test 01a1fa88'],
    async run(context, { webhook }: Named) {
      const { id, url, disabled_for } = await findWebhook(context, webhook);
      if (disabled_for !== null) {
        const hint = `Enable it with svc webhooks update ${id} --enable.`;
        throw new SvcError('webhook_disabled', 'The webhook is disabled.', { hint });
      }
      const { body } = await context.call('testWebhook', { params: { id } });
      context.output.done(body, `Queued a test message for ${context.output.quote(url)}.`);
    },
  },
  {
    path: 'webhooks listen',
    summary: 'Print the messages that arrive at a port of this machine, and check their signatures',
    details:
      'For a webhook of svc-server dev, which accepts the URL http://127.0.0.1:4242/. svc answers 204 if the signature is right, and 401 if not. It runs until Ctrl-C; with --json, it prints one JSON object per line.',
    options: [
      { flags: '--port <number>', summary: 'port to listen on', parse: portNumber, default: 4242 },
      {
        flags: '--secret-file <file>',
        summary: 'file with the secret that svc webhooks create printed (default: ask)',
      },
    ],
    examples: ['svc webhooks listen --secret-file webhook.secret'],
    async run(context, { port, secretFile }: { port: number; secretFile?: string }) {
      const { output } = context;
      const secret =
        secretFile === undefined
          ? await (await context.prompt()).secret('Secret of the webhook: ', '--secret-file')
          : await readPrivateFile(secretFile, '--secret-file', 'usage');
      const { startReceiver } = await import('../input/webhook-receiver.ts');
      const columns: Column<Received>[] = [
        { title: 'time', value: (r) => r.received_at, isTime: true },
        { title: 'type', value: (r) => r.type },
        { title: 'id', value: (r) => r.id },
        { title: 'signature', value: (r) => r.signature },
        { title: 'message', value: (r) => JSON.stringify(r.message) },
      ];
      const { url } = await startReceiver({ port, secret: secret.trim() }, (received) => {
        if (output.asksJson) output.line(formatJson(received, false));
        else output.row(received, columns);
      });
      output.note(`Listening at ${url} until Ctrl-C.`);
      return new Promise<never>(() => {});
    },
  },
  {
    path: 'webhooks deliveries',
    summary: 'List the messages to a webhook in the last 7 days, newest first',
    arguments: [webhookArgument],
    options: [limitOption, cursorOption],
    examples: ['svc webhooks deliveries 01a1fa88'],
    async run(context, { webhook, ...range }: Named & Range) {
      const { id } = await findWebhook(context, webhook);
      await printPages(
        context.output,
        (query) => context.call('listWebhookDeliveries', { params: { id }, query }),
        [
          { title: 'id', value: (d) => d.id },
          { title: 'time', value: (d) => d.created_at, isTime: true },
          { title: 'type', value: (d) => d.type },
          { title: 'state', value: (d) => d.state },
          { title: 'attempts', value: (d) => d.attempts },
          { title: 'last', value: (d) => d.last_error ?? d.last_status, shrinks: true },
        ],
        range,
      );
    },
  },
  {
    path: 'webhooks replay',
    summary: 'Send a message again, with the same id',
    arguments: [{ syntax: '<delivery>', summary: 'id of the message' }],
    examples: ['svc webhooks replay 5b2c6c1e-3d8f-4a5e-9c57-6f1f1f0c2a10'],
    async run({ call, output }, { delivery: id }: { delivery: string }) {
      if (!UUID.test(id.toLowerCase())) {
        const hint = 'svc webhooks deliveries shows the ids.';
        throw new SvcError('usage', '<delivery> must be the whole id of a message.', { hint });
      }
      const { body } = await call('replayWebhookDelivery', { params: { id } });
      output.done(body, `Queued the message ${output.quote(id)} again.`);
    },
  },
];

function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at most 65535.');
}

function showSecret(output: Output, body: { webhook: Webhook; secret: string }): void {
  const note = `The secret of ${output.quote(body.webhook.url)} is shown only once.`;
  output.done(body, note, body.secret);
}

function allWebhooks({ call }: Context) {
  return readPages((query) => call('listWebhooks', { query }));
}

async function findWebhook(context: Context, text: string): Promise<Webhook> {
  const { items } = await allWebhooks(context);
  const named = items.map((webhook) => ({ ...webhook, name: webhook.url }));
  return pickOne('webhook', text, named);
}

function stateOf({ disabled_for, failing_since }: Webhook): string {
  if (disabled_for !== null) return `disabled (${disabled_for})`;
  return failing_since === null ? 'enabled' : 'failing';
}

function fieldsOf(webhook: Webhook): Field[] {
  return [
    ['id', webhook.id],
    ['url', webhook.url],
    ['events', webhook.events.join(', ')],
    ['state', stateOf(webhook)],
  ];
}
