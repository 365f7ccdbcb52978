// The Python client against the service and an agent.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { digestFile } from '../../../src/client/files.ts';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { freePort } from '../../support/free-port.ts';
import { needsPythonClient, pythonFolder, runClient } from '../../support/python-client.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';

let service: TestService;
let proxy: ServiceProxy;
let agent: TestAgent;
let owner: Owner;
let robot: TestRobot;
let env: Record<string, string>;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  ({ owner, robot } = await service.signInWithRobot());
  proxy = await startServiceProxy(service.url);
  agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey });
  await agent.start();
  env = { SVC_AGENT_SOCKET: agent.socketPath, SVC_URL: proxy.url, SVC_KEY: robot.apiKey };
});
afterEach(() => proxy.restore());
afterAll(async () => {
  await agent?.remove();
  await proxy?.close();
  await service?.close();
});

/** Before each script: `client` of a kind, and `show`, which prints JSON. */
const prelude = `
import json, os, sys, threading, time, uuid
from robot_svc import *
def client(kind, **options):
    if kind == "Agent":
        return Agent(**options)
    return Service(os.environ["SVC_URL"], os.environ["SVC_KEY"], **options)
def show(value):
    print(json.dumps(value), flush=True)
`;

/** Runs a script, and returns the values that it shows. */
async function python(context: TestContext, code: string, more: Record<string, string> = {}) {
  const shown = await runClient(await needsPythonClient(context), prelude + code, {
    ...env,
    ...more,
  });
  return shown
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const read = async (target: string) =>
  (await service.call('GET', `/api/v1/${target}`, { session: owner.session })).body;
const evidenceOf = async (id: string) => (await read(`tasks/${id}/proof`)).proof;
const storedSamples = async (since: string) =>
  (await read(`robots/${robot.id}/telemetry?limit=200&from=${since}`)).items;

it('returns receipts with the examples of its page alone', async (context) => {
  const page = await readFile(path.join(pythonFolder, 'README.md'), 'utf8');
  const examples = [...page.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const client = await needsPythonClient(context);

  const [first = '', second = '', third = '', ...others] = examples;

  expect(first.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(15);
  const receipt = JSON.parse(await runClient(client, first, env));
  expect(receipt).toMatchObject({ status: 'verified', robot_id: robot.id });
  expect((await read(`verify/${receipt.proof_hash}`)).verified).toBe(true);
  expect(await runClient(client, second, env)).toMatch(/^0x[0-9a-f]{64}\n$/);
  expect(await runClient(client, third, env)).toBe('');
  expect(await runClient(client, third.replace('3.269', '4'), env)).toContain('other evidence');
  expect(others).toEqual([]);
});

describe.each(['Agent', 'Service'])('%s', (kind) => {
  it('submits evidence that no JSON parser changes', async (context) => {
    const code = `
with client("${kind}") as robot:
    class Array(list):
        def tolist(self): return list(self)
    evidence = {"big": 2**53 + 1, "safe": 2**53 - 1, "small": -(2**64), "pi": 3.5, "list": (1, None, True)}
    task = robot.claim("Count", expected_result={"count": 2**60})
    show([task.id, task.complete(evidence, wait=60)])
    for wrong in (float("nan"), float("inf"), {1: 2}, object(), b"x"):
        try:
            robot.claim("Count").complete({"value": wrong})
        except InvalidRequest as error:
            show(error.code)
`;
    const [[id, receipt], ...refused] = await python(context, code);

    expect(receipt).toMatchObject({ task_id: id, status: 'verified' });
    expect(await evidenceOf(id)).toEqual({
      big: '9007199254740993',
      safe: 9007199254740991,
      small: '-18446744073709551616',
      pi: 3.5,
      list: [1, null, true],
    });
    expect((await read(`tasks/${id}`)).task.expected_result).toEqual({ count: `${2n ** 60n}` });
    expect(refused).toEqual(Array(5).fill('invalid_proof'));
  });

  it('lists attached files as the other programs do', async (context) => {
    const files = [0, 10, 2 ** 20, 2_500_000].map((bytes) =>
      path.join(agent.folder, `${bytes}.mcap`),
    );
    for (const file of files) {
      await writeFile(file, Buffer.alloc(Number(path.parse(file).name), 'x'));
    }
    const code = `
with client("${kind}") as robot:
    task = robot.claim("Record")
    task.complete({"nonce": "1"}, attach=json.loads(os.environ["FILES"]), wait=60)
    show(task.id)
`;
    const [id] = await python(context, code, { FILES: JSON.stringify(files) });

    const { files: listed } = await evidenceOf(id);
    const expected = files.map(async (file) => ({
      name: path.basename(file),
      media_type: 'application/vnd.mcap',
      ...(await digestFile(file)),
    }));
    expect(listed.entries).toEqual(await Promise.all(expected));
  });

  it('completes a task as failed on an exception, which continues', async (context) => {
    const code = `
with client("${kind}") as robot:
    for asked in (True, False):
        try:
            with robot.claim("Pick", fail_on_exception=asked) as task:
                raise ValueError("Gripper jammed")
        except ValueError as error:
            show([task.id, str(error), task.receipt(wait=60 if asked else 0) is not None])
`;
    const [[failed, message, hasReceipt], [open, , hasNone]] = await python(context, code);

    expect([message, hasReceipt, hasNone]).toEqual(['Gripper jammed', true, false]);
    expect(await evidenceOf(failed)).toEqual({ error: 'ValueError: Gripper jammed' });
    expect((await read(`tasks/${failed}`)).task.outcome).toBe('failed');
    if (kind === 'Service') expect((await read(`tasks/${open}`)).task.status).toBe('claimed');
  });

  it('completes a task once, however often the call is repeated', async (context) => {
    const code = `
with client("${kind}") as robot:
    id = uuid.uuid4()
    receipts = [robot.claim("Pick", id=id).complete({"n": 1}, wait=60) for _ in range(3)]
    show(receipts)
    try:
        robot.task(id).complete({"n": 2})
    except OtherEvidence as error:
        show([error.code, error.receipt["tx_hash"]])
    try:
        robot.claim("Place", id=id)
        show("claimed")
    except Conflict as error:
        show(error.code)
    show([each["task_id"] for each in robot.receipts()][0] == str(id))
`;
    const [receipts, other, conflict, isNewest] = await python(context, code);

    expect(new Set(receipts.map((each: object) => JSON.stringify(each))).size).toBe(1);
    expect(other).toEqual(['already_completed', receipts[0].tx_hash]);
    // The agent keeps the receipt of a completed task, not its claim.
    expect(conflict).toBe(kind === 'Agent' ? 'claimed' : 'id_conflict');
    expect(isNewest).toBe(true);
  });

  it('sends samples in batches, without what was not measured', async (context) => {
    const since = new Date().toISOString();
    const code = `
with client("${kind}") as robot:
    for i in range(120):
        robot.telemetry(battery_pct=80 if i else float("nan"), state="busy", metrics={"i": i, "gap": float("inf"), "big": 2**70})
    show([robot.flush(60), robot.samples.dropped, robot.samples.refused])
`;
    const before = proxy.seenAt('/api/v1/telemetry').length;

    expect(await python(context, code)).toEqual([[true, 0, 0]]);

    const arrived = async () => (await storedSamples(since)).length >= 120;
    await waitFor('the samples', arrived, 30_000);
    const samples = await storedSamples(since);
    expect(samples).toHaveLength(120);
    const values = samples.map(({ metrics }: { metrics: { i: number } }) => metrics.i);
    expect(new Set(values).size).toBe(120);
    const first = samples.find(({ metrics }: { metrics: { i: number } }) => metrics.i === 0);
    expect(first).toMatchObject({ battery_pct: null, metrics: { i: 0, big: 2 ** 70 } });
    expect(first.metrics).not.toHaveProperty('gap');
    const calls = proxy.seenAt('/api/v1/telemetry').length - before;
    if (kind === 'Service') expect(calls).toBe(3);
  });

  it('counts a sample that is refused, and keeps the others of its batch', async (context) => {
    const since = new Date().toISOString();
    const code = `
with client("${kind}") as robot:
    for battery in (10, 20, 300, 40):
        robot.telemetry(battery_pct=battery)
    robot.telemetry(metrics={"value": object()})
    show([robot.flush(60), robot.samples.dropped, robot.samples.refused])
`;
    expect(await python(context, code)).toEqual([[true, 0, 2]]);

    await waitFor('the samples', async () => (await storedSamples(since)).length === 3, 30_000);
  });

  it('records events', async (context) => {
    const code = `
with client("${kind}") as robot:
    show(robot.event("gripper", "Slipped once", severity="warn", payload={"axis": 3}))
`;
    const [event] = await python(context, code);

    expect(event).toMatchObject({ event_type: 'gripper', severity: 'warn', payload: { axis: 3 } });
  });

  it('refuses a time without a zone', async (context) => {
    const code = `
from datetime import datetime, timedelta, timezone
with client("${kind}") as robot:
    try:
        robot.claim("Pick", occurred_at=datetime(2026, 1, 1))
    except ValueError as error:
        show(str(error))
    task = robot.claim("Pick", occurred_at=datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))))
    show(task.read()["task"]["occurred_at"])
`;
    const [refused, stored] = await python(context, code);

    expect(refused).toContain('has no time zone');
    expect(stored).toBe('2026-01-01T10:00:00.000Z');
  });

  it('claims and completes one task if the program is killed and runs again', async (context) => {
    const { python: program } = await needsPythonClient(context);
    const id = randomUUID();
    const code = `${prelude}
with client("${kind}", retry_s=600) as robot:
    task = robot.claim("Survey", id="${id}")
    show(task.complete({"distance_m": 3.25}, wait=60))
`;
    const child = spawn(program, ['-c', code], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    // The answer to the completion, or what the agent delivers, never arrives.
    const reached = new Promise<void>((resolve) => {
      proxy.handle(async ({ path: target, body, response, pass, forward }) => {
        if (!target.includes(id) && !body.includes(id)) return pass();
        const answer = await forward();
        if (!body.includes('distance_m')) {
          response.writeHead(answer.status, answer.headers).end(answer.body);
          return;
        }
        response.destroy();
        resolve();
      });
    });
    await reached;
    child.kill('SIGKILL');
    await once(child, 'exit');
    proxy.restore();

    const [receipt] = await python(context, code.slice(prelude.length));

    expect(receipt).toMatchObject({ task_id: id, status: 'verified' });
    const { items } = await read('tasks?limit=200');
    expect(items.filter((task: { title: string }) => task.title === 'Survey')).toHaveLength(
      kind === 'Agent' ? 1 : 2,
    );
    expect((await read(`verify/${receipt.proof_hash}`)).verified).toBe(true);
  });

  it('is not misled by a sign-in page', async (context) => {
    let pages = 0;
    proxy.handle(async ({ pass, response }) => {
      pages += 1;
      if (pages > 2) return pass();
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome to the Wi-Fi');
      return;
    });

    const code = `
with client("${kind}") as robot:
    show(robot.claim("Pick").complete({"n": 3}, wait=60))
`;
    const [receipt] = await python(context, code);

    expect(receipt.status).toBe('verified');
    expect(pages).toBeGreaterThan(2);
  });

  it('takes at most 1 ms of the caller for a sample, also without a network', async (context) => {
    proxy.cut();
    const code = `
with client("${kind}", queue=100) as robot:
    robot.telemetry(state="idle")
    times = []
    for i in range(2000):
        begin = time.thread_time()
        robot.telemetry(battery_pct=80, state="busy", metrics={str(n): n / 7 for n in range(20)})
        times.append(time.thread_time() - begin)
    show(sorted(times)[-20])
`;
    const [seconds] = await python(context, code);

    expect(seconds).toBeLessThan(0.001);
  });
});

describe('without a network', () => {
  it('Agent stores the evidence, and the receipt follows', async (context) => {
    const code = `
with Agent() as robot:
    task = robot.claim("Water")
    show([task.id, task.complete({"liters": 3.5}), task.receipt()])
`;
    proxy.cut();
    const [[id, ...none]] = await python(context, code);
    proxy.restore();

    expect(none).toEqual([null, null]);
    const [receipt] = await python(
      context,
      `with Agent() as robot:\n    show(robot.task("${id}").receipt(wait=60))`,
    );
    expect(receipt).toMatchObject({ task_id: id, status: 'verified' });
  });

  it('Agent reports evidence that the service refused after the agent had accepted it', async (context) => {
    const code = `
with Agent() as robot:
    task = robot.claim("Water")
    show([task.id, task.complete({"liters": 4})])
    sys.stdin.readline()
    try:
        task.receipt(wait=600)
    except OtherEvidence as error:
        show(error.code)
`;
    const first = `with Service(os.environ["SVC_URL"], os.environ["SVC_KEY"]) as robot:
    task = robot.claim("Water", id=os.environ["ID"])
    show(task.complete({"liters": 3}, wait=60))
`;
    const { python: program } = await needsPythonClient(context);
    proxy.cut();
    const child = spawn(program, ['-c', prelude + code], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let shown = '';
    child.stdout.on('data', (text) => {
      shown += text;
    });
    await waitFor('the evidence', () => shown.endsWith('\n'), 30_000);
    const [id] = JSON.parse(shown);
    await python(context, first, { ID: id, SVC_URL: service.url });
    proxy.restore();
    const isAside = async () =>
      (await agent.status()).set_aside.some((one: { task_id: string }) => one.task_id === id);
    await waitFor('the refusal', isAside, 30_000);
    child.stdin.end('\n');
    await once(child, 'exit');

    expect(shown.split('\n').slice(1)).toEqual(['"already_completed"', '']);
  });

  it('Agent works over its TCP port, with the token', async (context) => {
    const other = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
    const [port, token] = [await freePort(), 'a3'.repeat(16)];
    await writeFile(path.join(other.folder, 'token'), token, { mode: 0o600 });
    await other.start({
      SVC_AGENT_LISTEN: `127.0.0.1:${port}`,
      SVC_AGENT_TOKEN_FILE: path.join(other.folder, 'token'),
    });
    const code = `
url = "http://127.0.0.1:${port}"
with Agent(url, token="${token}") as robot:
    show(robot.claim("Water").complete({"liters": 5}, wait=60)["status"])
try:
    Agent(url, token="wrong").claim("Water")
except Refused as error:
    show(error.code)
`;
    expect(await python(context, code)).toEqual(['verified', 'invalid_token']);
    await other.remove();
  });

  it('Service repeats the call, and raises Unreachable in the end', async (context) => {
    const code = `
with client("Service", retry_s=0.5) as robot:
    try:
        robot.claim("Water")
    except Unreachable as error:
        show([error.code, error.retryable])
`;
    proxy.cut();

    expect(await python(context, code)).toEqual([['service_unreachable', true]]);
  });

  it('Service drops the oldest samples, and counts them', async (context) => {
    const since = new Date().toISOString();
    const code = `
with client("Service", queue=100) as robot:
    for i in range(300):
        robot.telemetry(metrics={"i": i})
    show(robot.samples.dropped)
    sys.stdin.readline()
    show([robot.flush(60), robot.samples.dropped])
`;
    proxy.cut();
    const { python: program } = await needsPythonClient(context);
    const child = spawn(program, ['-c', prelude + code], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    child.stdout.on('data', (text) => lines.push(...String(text).trim().split('\n')));
    await waitFor('the count', () => lines.length === 1, 30_000);
    proxy.restore();
    child.stdin.end('\n');
    await once(child, 'exit');

    const [dropped, [isFlushed, finally_]] = lines.map((line) => JSON.parse(line));
    expect([isFlushed, finally_]).toEqual([true, dropped]);
    expect(dropped).toBeGreaterThanOrEqual(150);
    const samples = await storedSamples(since);
    expect(samples).toHaveLength(300 - dropped);
    expect(samples.some(({ metrics }: { metrics: { i: number } }) => metrics.i === 299)).toBe(true);
  });

  it('Agent says where no agent answers', async (context) => {
    const code = `
try:
    Agent("/nowhere.sock", retry_s=0).claim("Pick")
except Unreachable as error:
    show(error.message)
`;
    const [message] = await python(context, code);

    expect(message).toContain('No svc-agent answers at /nowhere.sock: ');
  });

  it('Service accepts only an origin, and sends no key as plaintext to another machine', async (context) => {
    const code = `
for url in ("http://svc.example.com", "svc.example.com", "https://svc.example.com/api"):
    try:
        Service(url, "svc_x")
    except ValueError as error:
        show(str(error))
`;
    expect(await python(context, code)).toEqual([
      expect.stringContaining('plaintext'),
      expect.stringContaining('not an origin'),
      expect.stringContaining('not an origin'),
    ]);
  });

  it('Service counts the samples that it could not send before its end', async (context) => {
    const code = `
from robot_svc import client as module
module.CLOSE_S = 0.1
robot = client("Service")
for i in range(60):
    robot.telemetry(metrics={"i": i})
robot.close()
show(robot.samples.dropped)
`;
    proxy.cut();

    expect(await python(context, code)).toEqual([60]);
  });
});
