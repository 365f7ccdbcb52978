// The Python client after a fork, with odd samples, and with a server that answers anything.
import { afterEach, beforeEach, expect, it, type TestContext } from 'vitest';
import { needsPythonClient, runClient } from '../../support/python-client.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';

let proxy: ServiceProxy;

beforeEach(async () => {
  proxy = await startServiceProxy('http://127.0.0.1:9');
  proxy.fail(201, { accepted: 1 });
});
afterEach(() => proxy.close());

/** Runs a script with the client `robot`, and returns the values that it shows. */
async function python(context: TestContext, code: string) {
  const prelude = `
import json, os, signal, threading, time, uuid, warnings
from robot_svc import *
from robot_svc import client as client_module, telemetry as telemetry_module
robot = Service("${proxy.url}", "svc_x", retry_s=0)
def show(value):
    print(json.dumps(value), flush=True)
`;
  const shown = await runClient(await needsPythonClient(context), prelude + code);
  return shown
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The metric `i` of the samples that arrived. */
const arrived = () =>
  proxy
    .seenAt('/api/v1/telemetry')
    .flatMap(({ body }) => JSON.parse(body).samples)
    .map(({ metrics }: { metrics: { i: number } }) => metrics.i)
    .sort((a, b) => a - b);

it('sends each sample once after a fork, also if a thread of the parent held the lock', async (context) => {
  const code = `
# Python 3.12 warns of any fork beside threads.
warnings.simplefilter("ignore", DeprecationWarning)
def fork():
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        robot.telemetry(metrics={"i": 3})
        robot.close()
        os._exit(0)
    show(os.waitpid(child, 0)[1])
for i in range(3):
    robot.telemetry(metrics={"i": i})
with robot.samples._changed:
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
robot.close()
`;
  expect(await python(context, code)).toEqual([0]);

  expect(arrived()).toEqual([0, 1, 2, 3]);
});

it('leaves out a NaN of numpy, and keeps the sample', async (context) => {
  const code = `
class Float32:
    def __init__(self, value): self.value = value
    def tolist(self): return self.value
robot.telemetry(battery_pct=Float32(float("nan")), metrics={"i": Float32(0.5), "gap": Float32(float("nan"))})
robot.close()
show(robot.samples.refused)
`;
  expect(await python(context, code)).toEqual([0]);

  const [call] = proxy.seenAt('/api/v1/telemetry');
  const [sample] = JSON.parse(call?.body ?? '').samples;
  expect(sample.metrics).toEqual({ i: 0.5 });
  expect(sample).not.toHaveProperty('battery_pct');
});

it('counts the samples of a call that has no answer when the client is closed', async (context) => {
  proxy.handle(() => {});
  const code = `
client_module.CLOSE_S = telemetry_module.LAST_CALL_S = 0.5
for i in range(60):
    robot.telemetry(metrics={"i": i})
robot.close()
robot.close()
show(robot.samples.dropped)
`;
  expect(await python(context, code)).toEqual([60]);
});

it('refuses only the samples that are not JSON', async (context) => {
  const code = `
cycle = {}
cycle["cycle"] = cycle
class Broken:
    def tolist(self): raise KeyError("driver")
for i, odd in enumerate((1, 10**5000, cycle, Broken(), 2)):
    robot.telemetry(metrics={"i": i, "odd": odd})
show(robot.flush(30))
robot.telemetry(metrics={"i": 5})
show([robot.flush(30), robot.samples.refused, robot.samples.dropped])
`;
  expect(await python(context, code)).toEqual([true, [true, 3, 0]]);

  expect(arrived()).toEqual([0, 4, 5]);
});

const overloaded = '{"error":"overloaded","message":"Wait."}';
const digits = `1${'0'.repeat(400)}`;

it.for([
  ['a retry_after of infinity', overloaded.replace('}', ',"retry_after":1e999}'), '', 3600],
  ['a retry_after of 400 digits', overloaded.replace('}', `,"retry_after":${digits}}`), '', 3600],
  ['a Retry-After of 400 digits', overloaded, digits, 3600],
  ['a Retry-After of a superscript', overloaded, '²', null],
  ['JSON of 100 000 levels', '['.repeat(100_000), '', null],
] as const)(
  'raises a SvcError for %s, and keeps the samples',
  async ([, body, after, seconds], context) => {
    proxy.handle(({ response }) => {
      response
        .writeHead(503, { 'content-type': 'application/json', 'retry-after': after })
        .end(body);
    });
    const code = `
client_module.CLOSE_S = 0.5
try:
    robot.claim("Pick")
except (Unavailable, UnexpectedAnswer) as error:
    show(error.retry_after)
robot.telemetry(metrics={"i": 0})
robot.flush(1)
robot.close()
show([robot.samples.refused, robot.samples.dropped, type(robot.samples.last_error).__name__])
`;
    const [shown, counts] = await python(context, code);

    expect(shown).toBe(seconds);
    expect(counts).toEqual([0, 1, body.startsWith('[') ? 'UnexpectedAnswer' : 'Unavailable']);
  },
);

it('completes a task as failed if its evidence was refused', async (context) => {
  const completions: unknown[] = [];
  proxy.handle(({ path, body, response }) => {
    const { id, proof } = JSON.parse(body);
    if (path.endsWith('/complete')) completions.push(proof);
    const isRefused = proof?.parcels === 12;
    response.writeHead(isRefused ? 400 : proof ? 202 : 201).end(
      JSON.stringify({
        task: { id },
        proof_hash: '0x1',
        ...(isRefused && { error: 'invalid_proof', message: 'Refused.' }),
      }),
    );
  });
  const code = `
for evidence, outcome in (({"parcels": 12}, None), ({"parcels": 13}, float("nan"))):
    try:
        with robot.claim("Sort", fail_on_exception=True) as task:
            task.complete(evidence, outcome=outcome)
    except (InvalidRequest, ValueError) as error:
        show(type(error).__name__)
`;
  expect(await python(context, code)).toEqual(['InvalidRequest', 'ValueError']);

  expect(completions).toEqual([
    { parcels: 12 },
    { error: expect.stringContaining('invalid_proof') },
    { error: expect.stringContaining('ValueError') },
  ]);
});

it('accepts a token with a line end, and shows no key in an error', async (context) => {
  const code = `
Agent("${proxy.url}", token=" svc_secret\\n").event("start")
for wrong in ("svc_secret\\nx", "svc_secret\\x7f", "svc_secreté"):
    for make in (lambda: Agent("${proxy.url}", token=wrong), lambda: Service("${proxy.url}", wrong)):
        try:
            make().event("start")
        except Exception as error:
            show(repr(error))
`;
  proxy.fail(201, { event: {} });
  const shown = await python(context, code);

  expect(shown).toEqual(Array(6).fill("ValueError('The key or token must be printable ASCII.')"));
  expect(proxy.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer svc_secret']);
});

it.for(['Agent', 'Service'])('%s returns no receipt for other evidence', async (kind, context) => {
  proxy.handle(({ method, path, response }) => {
    const [, id] = path.match(/tasks\/(.*?)(\/complete)?$/) ?? [];
    const [first, second] = id?.startsWith('a') ? ['0x1', '0x2'] : ['0x2', '0x2'];
    const answer = {
      task: { id },
      verification: method === 'GET' ? { task_id: id, proof_hash: second } : null,
      proof_hash: method === 'GET' ? undefined : first,
    };
    response.writeHead(method === 'GET' ? 200 : 202).end(JSON.stringify(answer));
  });
  const code = `
if "${kind}" == "Agent":
    robot = Agent("${proxy.url}", token="svc_x")
for id in ("a0000000-0000-4000-8000-000000000000", "b0000000-0000-4000-8000-000000000000"):
    task = robot.task(id)
    show(task.complete({"parcels": 12}))
    try:
        show(task.receipt()["proof_hash"])
    except UnexpectedAnswer as error:
        show(error.code)
`;
  expect(await python(context, code)).toEqual([null, 'unexpected_answer', null, '0x2']);
});
