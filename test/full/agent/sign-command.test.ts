import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { quickUploaderPauses } from '../../support/quick-pauses.js';
import { runInProcess } from '../../support/run-in-process.ts';
import { type SigningService, startSigningService } from '../../support/signing-service.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

let service: SigningService;
let agent: TestAgent;

beforeEach(async () => {
  service = await startSigningService();
  const pauses = { ...quickUploaderPauses, signCommandMs: 5_000 };
  agent = await createTestAgent({ url: service.url, apiKey: `svc_${'0'.repeat(40)}`, pauses });
});
afterEach(async () => {
  await agent.remove();
  await service.close();
});

const identity = (args: string[], env: Record<string, string>) =>
  runInProcess('svc-agent', ['identity', ...args], { env: { ...agent.environment, ...env } });
const signing = async () => (await agent.status()).signing;
const isActive = () => waitFor('the key', async () => (await signing()).state === 'active', LONG);

describe('a command that signs', () => {
  /** A P-256 key whose command writes the signature in DER, as `pkcs11-tool` and `tpm2_sign` do. */
  async function createCommandKey() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const files = {
      key: path.join(agent.folder, 'key.pem'),
      public: path.join(agent.folder, 'pub.pem'),
    };
    await writeFile(files.key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(files.public, publicKey.export({ type: 'spki', format: 'pem' }));
    const command = `openssl dgst -sha256 -sign ${files.key} | base64 -w0`;
    const env = { SVC_AGENT_SIGN_COMMAND: JSON.stringify(['sh', '-c', command]) };
    const created = await identity(['create', '--public-key', files.public], env);
    expect(created.exitCode).toBe(0);
    service.grant();
    return env;
  }

  it('signs after a restart exactly what was accepted before', async () => {
    const env = await createCommandKey();
    const hanging = { SVC_AGENT_SIGN_COMMAND: 'sleep 600' };
    await agent.start(hanging);
    await isActive();
    await agent.complete(await agent.claim(), { picked: 12 });
    await agent.stop();
    const { stdout } = await runInProcess('svc-agent', ['spool', 'export'], {
      env: agent.environment,
    });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const stored = lines.filter(({ kind }) => kind === 'statement');

    await agent.start(env);
    await waitFor('both', () => service.statements().length === 2, LONG);

    expect(stored.map(({ jws }) => jws)).toEqual([null, null]);
    expect(service.statements().map(({ read }) => read.signed)).toEqual(
      stored.map(({ body }) => body.signed),
    );
  });

  it.each([
    ['takes too long', ['sleep', '600'], 'took longer than'],
    ['fails', ['sh', '-c', 'echo "no token" >&2; exit 3'], 'ended with 3: no token'],
    ['prints something else', ['echo', '{}'], 'something else than base64'],
    [
      'fails in a pipeline',
      ['sh', '-c', 'echo "no token" >&2 | base64'],
      'something else than base64: no token',
    ],
    ['prints too much', ['yes'], 'more than 1024 bytes'],
    ['prints a wrong signature', ['echo', 'c'.repeat(86)], 'does not fit the public key'],
    ['does not exist', ['/nowhere/sign'], 'could not be started'],
  ])('delays only the upload if it %s', async (_, command, message) => {
    await createCommandKey();
    await agent.start({ SVC_AGENT_SIGN_COMMAND: JSON.stringify(command) });
    await isActive();

    await agent.claim();

    const found = await waitFor('the error', async () => (await signing()).last_error, LONG);
    expect(found.message).toContain(message);
    expect(await signing()).toMatchObject({ last_number: 1, unsigned: 1 });
    expect(service.statements()).toEqual([]);
  });
});
