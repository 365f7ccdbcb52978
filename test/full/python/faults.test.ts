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
