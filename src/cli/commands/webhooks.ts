// `svc webhooks`: HTTPS endpoints that get messages about the account.
import type { Client } from '../../client/client.ts';
import { type Webhook, webhookEvents } from '../../protocol/webhooks.ts';
import { pickOne } from '../input/find.ts';
import type { Field } from '../output/output.ts';
import { noteRest, readPages } from '../output/pages.ts';
import { showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { type ArgumentSpec, cursorOption, limitOption } from '../program/options.ts';

type WebhookTypes = Webhook['events'];

const types = Object.keys(webhookEvents);
const webhookArgument: ArgumentSpec = {
  syntax: '<webhook>',
  summary: 'id, start of an id, or exact URL',
};
const eventOption = {
  flags: '--event <type...>',
  summary: `types of messages: ${types.join(', ')}`,
  completes: types,
};

export const webhookCommands: readonly CommandSpec[] = [
  {
    path: 'webhooks create',
    summary: 'Create a webhook and show its secret one time',
    details: 'Without --event, it gets messages of all types. When piped, prints only the secret.',
    arguments: [{ syntax: '<url>', summary: 'an https URL' }],
    options: [eventOption],
    examples: ['svc webhooks create https://ops.example.org/svc --event alert.opened alert.closed'],
    run: createWebhook,
  },
  {
    path: 'webhooks list',
    summary: 'List the webhooks, newest first',
    examples: ['svc webhooks list'],
    run: listWebhooks,
  },
  {
    path: 'webhooks update',
    summary: 'Change, enable or disable a webhook',
    arguments: [webhookArgument],
    options: [
      { flags: '--to <url>', summary: 'another https URL' },
      eventOption,
      { flags: '--enable', summary: 'send messages again; what was abandoned stays so' },
      { flags: '--disable', summary: 'send nothing, and abandon what waits' },
    ],
    examples: ['svc webhooks update https://ops.example.org/svc --enable'],
    run: updateWebhook,
  },
  {
    path: 'webhooks rotate-secret',
    summary: 'Issue a new secret and show it one time; the old one works for 24 hours',
    details: 'When piped, prints only the secret.',
    arguments: [webhookArgument],
    examples: ['svc webhooks rotate-secret 01a1fa88'],
    run: rotateSecret,
  },
  {
    path: 'webhooks delete',
    summary: 'Delete a webhook and the messages that wait',
    arguments: [webhookArgument],
    examples: ['svc webhooks delete 01a1fa88'],
    run: ({ session, output }: Context, { webhook }: Named) =>
      act({ session, output }, webhook, 'deleteWebhook', 'Deleted the webhook'),
  },
  {
    path: 'webhooks test',
    summary: 'Send a test message to a webhook',
    arguments: [webhookArgument],
    examples: ['svc webhooks test 01a1fa88'],
    run: ({ session, output }: Context, { webhook }: Named) =>
      act({ session, output }, webhook, 'testWebhook', 'Queued a test message for'),
  },
  {
    path: 'webhooks deliveries',
    summary: 'List the messages of a webhook in the last 7 days, newest first',
    arguments: [webhookArgument],
    options: [limitOption, cursorOption],
    examples: ['svc webhooks deliveries 01a1fa88'],
    run: listDeliveries,
  },
  {
    path: 'webhooks replay',
    summary: 'Send a message again, with the same id',
    arguments: [{ syntax: '<delivery>', summary: 'id of the message' }],
    examples: ['svc webhooks replay 5b2c6c1e-3d8f-4a5e-9c57-6f1f1f0c2a10'],
    run: replay,
  },
];

interface Named {
  webhook: string;
}

async function createWebhook(
  context: Context,
  { url, event = types as WebhookTypes }: { url: string; event?: WebhookTypes },
): Promise<void> {
  const { client } = await context.session();
  const { body } = await client.call('createWebhook', { body: { url, events: event } });
  showSecret(context, body);
}

async function listWebhooks({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const page = await allWebhooks(client);
  await output.table(page, page.items, [
    { title: 'id', value: (w) => w.id },
    { title: 'url', value: (w) => w.url, shrinks: true },
    { title: 'events', value: (w) => w.events.join(', '), shrinks: true },
    { title: 'state', value: stateOf },
  ]);
}

async function updateWebhook(
  { session, output }: Context,
  input: Named & { to?: string; event?: WebhookTypes; enable?: true; disable?: true },
): Promise<void> {
  const { client } = await session();
  const { id } = await findWebhook(client, input.webhook);
  const { body } = await client.call('patchWebhook', {
    params: { id },
    body: {
      ...(input.to !== undefined && { url: input.to }),
      ...(input.event && { events: input.event }),
      ...((input.enable || input.disable) && { enabled: input.enable === true }),
    },
  });
  await output.record(body, fieldsOf(body.webhook));
}

async function rotateSecret(context: Context, { webhook }: Named): Promise<void> {
  const { client } = await context.session();
  const { id } = await findWebhook(client, webhook);
  showSecret(context, (await client.call('rotateWebhookSecret', { params: { id } })).body);
}

async function act(
  { session, output }: Pick<Context, 'session' | 'output'>,
  text: string,
  route: 'deleteWebhook' | 'testWebhook',
  done: string,
): Promise<void> {
  const { client } = await session();
  const { id, url } = await findWebhook(client, text);
  const { body } = await client.call(route, { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`${done} ${output.quote(url)}.`);
}

async function listDeliveries(
  { session, output }: Context,
  { webhook, ...range }: Named & { limit: number; cursor?: string },
): Promise<void> {
  const { client } = await session();
  const { id } = await findWebhook(client, webhook);
  const page = await readPages(
    (query) => client.call('listWebhookDeliveries', { params: { id }, query }),
    range,
  );
  await output.table(page, page.items, [
    { title: 'id', value: (d) => d.id },
    { title: 'time', value: (d) => d.created_at, shown: (d) => showTime(d.created_at) },
    { title: 'type', value: (d) => d.type },
    { title: 'state', value: (d) => d.state },
    { title: 'attempts', value: (d) => d.attempts },
    { title: 'last', value: (d) => d.last_error ?? d.last_status, shrinks: true },
  ]);
  noteRest(output, page);
}

async function replay(
  { session, output }: Context,
  { delivery: id }: { delivery: string },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('replayWebhookDelivery', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`Queued the message ${output.quote(id)} again.`);
}

function showSecret({ output }: Context, body: { webhook: Webhook; secret: string }): void {
  if (output.asksJson) {
    output.json(body);
    return;
  }
  output.text(body.secret);
  output.note(`The secret of ${output.quote(body.webhook.url)} is shown only once.`);
}

function allWebhooks(client: Client) {
  return readPages((query) => client.call('listWebhooks', { query }));
}

async function findWebhook(client: Client, text: string): Promise<Webhook> {
  const { items } = await allWebhooks(client);
  return pickOne(
    'webhook',
    text,
    items.map((webhook) => ({ ...webhook, name: webhook.url })),
  );
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
