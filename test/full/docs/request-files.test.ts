import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAgent } from '../../support/agent.ts';
import { filesThatRan } from '../../support/files-that-ran.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

let page: string;
let service: TestService;
let owner: Owner;
let robot: TestRobot;
let folder: string;

beforeAll(async () => {
  page = await readFile('docs/architecture.md', 'utf8');
  // Without a chain, nothing else runs meanwhile.
  service = await startTestService();
  owner = await service.signIn();
  robot = await service.makeRobot(owner);
  folder = await mkdtemp(path.join(tmpdir(), 'svc-config-'));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

/** The files of the table of a section. */
function stepsOf(heading: string): string[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| \d+ \| `([^`]+)`/gm)].map(([, file = '']) => file);
}

/** What only runs at the start. */
const isDeclared = (file: string) => /^src\/protocol\/routes\/|\/app\.ts$/.test(file);

function expectListed(heading: string, ran: readonly string[]): void {
  const steps = stepsOf(heading);
  expect(steps.length).toBeGreaterThan(3);
  expect(steps.filter((file) => !isDeclared(file) && !ran.includes(file))).toEqual([]);
}

it('lists the files of a key rotation', async () => {
  const ran = await filesThatRan(async () => {
    const path = `/api/v1/robots/${robot.id}/rotate-key`;
    const reply = await service.call('POST', path, { session: owner.session });
    expect(reply.status).toBe(200);
  });

  expectListed('A key rotation, on the server', ran);
});

it('lists the files of a sample', async () => {
  const sender = await service.makeRobot(owner);
  const agent = await createTestAgent({ url: service.url, apiKey: sender.apiKey });
  const stored = () =>
    service.store.listSamples(
      { wallet: owner.wallet, robotId: sender.id },
      { from: 0, to: Number.MAX_SAFE_INTEGER },
      { limit: 2, before: null },
    );
  await agent.start();
  const ran = await filesThatRan(async () => {
    await agent.record([{ battery_pct: 50, state: 'idle' }]);
    await waitFor('the sample', async () => (await stored())?.length === 1);
  });
  await agent.remove();

  expectListed("A sample, from the agent's socket to its row", ran);
});

it('lists the files of a completion, and of its verification', async () => {
  const anchoring = await startTestService({ chain: 'mining' });
  const completer = await anchoring.makeRobot(await anchoring.signIn());
  const taskId = await anchoring.claim(completer);
  let proofHash = '';
  const ran = await filesThatRan(async () => {
    const { status, body } = await anchoring.complete(completer, taskId, newEvidence());
    expect(status).toBe(200);
    proofHash = body.verification.proof_hash;
  });
  const url = anchoring.url;
  const verify = () =>
    runInProcess('svc', ['verify', proofHash, '--rpc-url', anchoring.rpcUrl], {
      env: { SVC_URL: url, SVC_CONFIG_DIR: folder, HOME: folder },
    });
  const verified = await filesThatRan(async () => {
    expect(await verify()).toMatchObject({ exitCode: 0 });
  });
  await anchoring.close();

  expectListed('A proof, from POST to receipt', ran);
  expectListed('`svc verify`, from hash to verdict', verified);
});
