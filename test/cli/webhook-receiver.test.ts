import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seal } from '../../src/base/aes-gcm.ts';
import { type Received, startReceiver } from '../../src/cli/input/webhook-receiver.ts';
import { signedMessage } from '../../src/server/core/webhooks/webhooks.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

const key = Buffer.alloc(32);
const [secret, other] = [randomBytes(32), randomBytes(32)];
const textOf = (bytes: Buffer) => `whsec_${bytes.toString('base64')}`;

/** A message as the service sends it, signed with these secrets. */
function messageOf(secrets: Buffer[], now = Date.now()) {
  const sealed = secrets.map((one) => seal(key, 'hook', one));
  const data = '{"event_type":"moved"}';
  const waiting = { id: 'message-1', number: 7, type: 'event.created', data, created_at: 0 };
  return signedMessage(key, 'hook', sealed, waiting as Parameters<typeof signedMessage>[3], now);
}

describe('the receiver of svc webhooks listen', () => {
  let received: Received[];
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  beforeEach(async () => {
    received = [];
    const options = { port: 0, secret: textOf(secret) };
    receiver = await startReceiver(options, (one) => received.push(one));
  });
  afterEach(() => receiver.close());

  async function post({ headers, body }: { headers: Record<string, string>; body: string }) {
    const { 'content-length': _, ...others } = headers;
    return (await fetch(receiver.url, { method: 'POST', headers: others, body })).status;
  }

  it('listens at 127.0.0.1', () => {
    expect(receiver.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  });

  it.each([
    ['the secret', [secret]],
    ['the secret, after a rotation', [secret, other]],
    ['the secret that a rotation replaced', [other, secret]],
  ])('accepts a message that was signed with %s', async (_, secrets) => {
    const status = await post(messageOf(secrets));

    expect([status, received]).toEqual([
      204,
      [
        {
          received_at: expect.stringMatching(/^\d{4}-.*Z$/),
          id: 'message-1',
          type: 'event.created',
          signature: 'ok',
          message: expect.objectContaining({ number: 7, data: { event_type: 'moved' } }),
        },
      ],
    ]);
  });

  const message = messageOf([secret]);
  it.each([
    ['another secret', messageOf([other]), 'no matching signature found'],
    [
      'the secret, and changed',
      { ...message, body: message.body.replace('moved', 'stole') },
      'no matching signature found',
    ],
    ['no signature', { headers: {}, body: message.body }, 'missing required headers'],
    [
      'the secret, 6 minutes ago',
      messageOf([secret], Date.now() - 360_000),
      'message timestamp too old',
    ],
    [
      'another secret, and is no JSON',
      { ...messageOf([other]), body: '}' },
      'no matching signature found',
    ],
  ])('reports why it refuses a message with %s', async (_, sent, signature) => {
    expect(await post(sent)).toBe(401);
    expect(received).toMatchObject([{ signature }]);
  });

  it('keeps nothing of a body of more than 1 MiB', async () => {
    const status = await post({ ...message, body: ' '.repeat(1024 * 1024 + 1) });

    const signature = 'the body has more than 1 MiB';
    expect([status, received]).toMatchObject([413, [{ signature, message: null }]]);
  });

  it('reports nothing but a POST', async () => {
    expect([(await fetch(receiver.url)).status, received]).toEqual([405, []]);
  });
});

describe('svc webhooks listen', () => {
  let user: SvcUser;
  beforeEach(async () => {
    user = await createSvcUser('http://127.0.0.1:9');
  });
  afterEach(() => user.remove());

  const listen = async (text: string, ...more: string[]) => {
    await writeFile(user.file('secret'), text, { mode: 0o600 });
    return user.svc(['webhooks', 'listen', '--secret-file', user.file('secret'), ...more]);
  };

  it('refuses an invalid secret without quoting it', async () => {
    const { exitCode, stderr } = await listen('whsec_short');

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('not the secret of a webhook')]);
    expect(stderr).not.toContain('short');
  });

  it('names a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    const { exitCode, stderr } = await listen(textOf(secret), '--port', String(port));

    server.close();
    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      `svc: Cannot listen on 127.0.0.1, port ${port} (EADDRINUSE).\nChoose another port with --port.\n`,
    );
  });

  it.each(['65536', '-1', 'x'])('refuses the port %s', async (port) => {
    const { exitCode, stderr } = await listen(textOf(secret), `--port=${port}`);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('at most 65535')]);
  });

  it('asks for the secret only in a terminal', async () => {
    const { exitCode, stderr } = await user.svc(['webhooks', 'listen']);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Secret of the webhook')]);
  });
});
