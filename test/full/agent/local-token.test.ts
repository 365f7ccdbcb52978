import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { freePort } from '../../support/free-port.ts';
import { callLocally } from '../../support/local-call.ts';

const token = 'a3'.repeat(16);

let agent: TestAgent;
let file: string;
let port: number;
let settings: Record<string, string>;

beforeEach(async () => {
  agent = await createTestAgent({ url: 'http://127.0.0.1:9', apiKey: `svc_${'ab'.repeat(20)}` });
  port = await freePort();
  file = path.join(agent.folder, 'token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  settings = { SVC_AGENT_LISTEN: `127.0.0.1:${port}`, SVC_AGENT_TOKEN_FILE: file };
});
afterEach(() => agent.remove());

const claimOver = (headers: Record<string, string>) =>
  callLocally({ host: '127.0.0.1', port }, 'POST', '/api/v1/tasks', {
    body: { title: 'Pick' },
    headers,
  });

describe('the TCP port of the local API', () => {
  it('lets another user of the machine do nothing as the robot', async () => {
    await agent.start(settings);

    for (const authorization of ['', 'Bearer ', `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
      const { status, body } = await claimOver(authorization ? { authorization } : {});
      expect([status, body.error]).toEqual([401, 'invalid_token']);
    }
    expect((await agent.status()).queues.claims.count).toBe(0);
  });

  it('serves programs that send the token, which no log line contains', async () => {
    await agent.start(settings);

    expect((await claimOver({ authorization: `Bearer ${token}` })).status).toBe(201);
    expect(agent.logLines.join('')).not.toContain(token);
  });

  it('is not opened without a token', async () => {
    await expect(agent.start({ SVC_AGENT_LISTEN: `127.0.0.1:${port}` })).rejects.toThrow(
      'SVC_AGENT_LISTEN needs SVC_AGENT_TOKEN_FILE',
    );
  });

  it('accepts a token file that the group may read, as it may use the socket', async () => {
    await chmod(file, 0o640);

    await agent.start(settings);
  });

  it.each([0o644, 0o660, 0o602])('refuses a token file of mode %o', async (mode) => {
    await chmod(file, mode);

    await expect(agent.start(settings)).rejects.toMatchObject({
      message: `SVC_AGENT_TOKEN_FILE ${file} can be read by others (mode ${mode.toString(8)}).`,
      hint: expect.stringContaining(`chmod 640 ${file}`),
    });
  });

  it('refuses a token that can be guessed', async () => {
    await writeFile(file, 'short');

    await expect(agent.start(settings)).rejects.toThrow(`SVC_AGENT_TOKEN_FILE ${file} holds no`);
  });
});
