// The Python client on a robot that signs its work.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { needsPythonClient, runClient } from '../../support/python-client.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Room for a busy machine. */
const LONG = 60_000;

let service: TestService;
let user: SvcUser;
let agent: TestAgent;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  user = await createSvcUser(service.url);
  await user.signIn();
  const { api_key: apiKey } = await user.json('robots', 'create', 'arm-1');
  agent = await createTestAgent({ url: service.url, apiKey });
  await runInProcess('svc-agent', ['identity', 'create'], { env: agent.environment });
  await agent.start();
  const sign = ['robots', 'sign-key', 'arm-1', '--key-file', user.keyFile, '--yes'];
  await waitFor('the key', async () => (await user.svc(sign)).exitCode === 0, LONG);
  const isActive = async () => (await agent.status()).signing.state === 'active';
  await waitFor('the key in use', isActive, LONG);
});
afterAll(async () => {
  await agent?.remove();
  await user?.remove();
  await service?.close();
});

it('gets a receipt that names the statement of the robot', async (context) => {
  const code = `
import json
from robot_svc import Agent
with Agent() as agent:
    task = agent.claim("Sort parcels")
    print(json.dumps(task.complete({"parcels": 12}, outcome="failed", wait=60)))
`;
  const env = { SVC_AGENT_SOCKET: agent.socketPath };

  const receipt = JSON.parse(await runClient(await needsPythonClient(context), code, env));

  expect(receipt).toMatchObject({
    format: 'svc-receipt/2',
    statement_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  });
  expect((await user.json('tasks', 'show', receipt.task_id)).task.outcome).toBe('failed');
});

it('needs the agent for that: the service refuses work without a statement', async (context) => {
  const { api_key: apiKey } = await user.json('robots', 'rotate-key', 'arm-1', '--yes');
  const code = `
import os
from robot_svc import Refused, Service
try:
    Service(os.environ["SVC_URL"], os.environ["SVC_KEY"]).claim("Sort parcels")
except Refused as error:
    print(error.code)
`;
  const env = { SVC_URL: service.url, SVC_KEY: apiKey };

  const shown = await runClient(await needsPythonClient(context), code, env);

  expect(shown).toBe('statement_required\n');
});
