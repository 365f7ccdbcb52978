import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { digestFile } from '../../../src/client/files.ts';
import { listedFiles } from '../../../src/proof/files/manifest.ts';
import type { Proof } from '../../../src/proof/json-value.ts';
import { killAgents, spawnAgent } from '../../support/agent-process.ts';
import { bindNotifySocket } from '../../support/notify-socket.ts';
import { type DevProcess, startDev } from '../../support/programs.ts';
import { needsProgram, requireProgram } from '../../support/require-program.ts';
import { signInAt } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const examples = path.resolve(import.meta.dirname, '../../../examples');

let folder: string;
let dev: DevProcess;
let owner: Client;
let robotId: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-robot-'));
  dev = await startDev(path.join(folder, 'data'));
  ({ owner } = await signInAt(dev.url));
  const { body } = await owner.call('createRobot', { body: { name: 'surveyor' } });
  robotId = body.robot.id;
  await writeFile(path.join(folder, 'key'), String(body.api_key), { mode: 0o600 });
  env = {
    SVC_AGENT_URL: dev.url,
    SVC_AGENT_KEY_FILE: path.join(folder, 'key'),
    SVC_AGENT_STATE_DIR: path.join(folder, 'state'),
    SVC_AGENT_SOCKET: path.join(folder, 'agent.sock'),
  };
  await spawnAgent(env);
});

afterAll(async () => {
  killAgents();
  await dev?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function runExample(program: 'python3' | 'sh', ...args: string[]) {
  const variables = { PATH: process.env.PATH, SVC_AGENT_SOCKET: env.SVC_AGENT_SOCKET };
  const { stdout } = await promisify(execFile)(requireProgram(program), args, { env: variables });
  return JSON.parse(stdout);
}

const countSamples = async (from = '2000-01-01T00:00:00Z') => {
  let count = 0;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string> = { from, limit: '200', ...(cursor && { cursor }) };
    const { body } = await owner.call('readTelemetry', { params: { id: robotId }, query });
    if (!('items' in body)) break;
    count += body.items.length;
    cursor = body.next_cursor;
  }
  return count;
};

describe('examples/robot.py', () => {
  it('claims, reports the recorded run, and anchors its evidence once, however often it runs', async () => {
    const taskId = randomUUID();
    const script = path.join(examples, 'robot.py');

    const before = await countSamples();
    const first = await runExample('python3', script, taskId);
    await waitFor('the samples', async () => (await countSamples()) >= before + 150, 30_000);
    const again = await runExample('python3', script, taskId);

    const params = { proofHash: first.proof_hash };
    const { body } = await owner.call('verifyProofHash', { params });
    expect(body).toMatchObject({ verified: true, task: { id: taskId } });
    expect(again).toEqual(first);
  });

  it('lists files in the evidence', async () => {
    const id = randomUUID();
    const script = path.join(examples, 'robot.py');

    await runExample('python3', script, id, script);

    const { body } = await owner.call('getProof', { params: { id } });
    const { bytes, sha256, root } = await digestFile(script);
    const listed = listedFiles(body.proof as Proof);
    expect(listed).toMatchObject([{ name: 'robot.py', bytes, sha256, root }]);
  });
});

describe('examples/robot.sh', () => {
  it('claims, reports, and anchors its evidence', async (context) => {
    needsProgram(context, 'curl');
    const from = new Date().toISOString();

    const { verification } = await runExample('sh', path.join(examples, 'robot.sh'));

    const params = { proofHash: verification.proof_hash };
    const { body } = await owner.call('verifyProofHash', { params });
    expect(body).toMatchObject({ verified: true, task: { title: 'Survey the office hall' } });
    await waitFor('the samples', async () => (await countSamples(from)) === 50, 30_000);
  });
});

describe('svc-agent run', () => {
  it('notifies systemd when it is ready and when it stops', async (context) => {
    needsProgram(context, 'systemd-notify');
    const notified = await bindNotifySocket();
    onTestFinished(notified.close);
    const agent = await spawnAgent({
      ...env,
      SVC_AGENT_STATE_DIR: path.join(folder, 'another-state'),
      SVC_AGENT_SOCKET: path.join(folder, 'another.sock'),
      NOTIFY_SOCKET: notified.address,
    });
    await waitFor('word of the start', () => notified.messages.includes('READY=1'));

    expect(await agent.kill('SIGTERM')).toBe('0');

    await waitFor('word of the end', () => notified.messages.includes('STOPPING=1'));
    expect(notified.messages).toEqual(['READY=1', 'STOPPING=1']);
  });
});
