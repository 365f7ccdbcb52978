// examples/ros2 without ROS: the conversions, and that an agent accepts what they return.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createTestAgent } from '../../support/agent.ts';
import { requireProgram } from '../../support/require-program.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const tests = path.join(import.meta.dirname, 'ros2');
const folders = [path.join(root, 'examples/ros2'), path.join(root, 'clients/python/src'), tests];

const python = (args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(requireProgram('python3'), ['-B', ...args], {
    cwd: tests,
    env: { PATH: process.env.PATH, PYTHONPATH: folders.join(path.delimiter), ...env },
  }).catch((error) => expect.unreachable(`${error.stderr}`));

it('converts messages of the interface definitions', async () => {
  const { stderr } = await python(['-m', 'unittest', '-v', 'test_convert']);

  process.stderr.write(stderr.match(/^.*NOT CHECKED.*$/gm)?.join('\n') ?? '');
  expect(stderr).toContain('\nOK');
});

it('returns what an agent accepts', async () => {
  const agent = await createTestAgent({
    url: 'http://127.0.0.1:9',
    apiKey: `svc_${'ab'.repeat(20)}`,
  });
  await agent.start();
  const script = `
import secrets
from convert import *
from interfaces import *
from robot_svc import Agent
goal_id = Message("unique_identifier_msgs/UUID", uuid=secrets.token_bytes(16))
result = Message("nav2_msgs/NavigateToPose_Result")
state = Message("sensor_msgs/BatteryState", percentage=0.5)
with Agent() as agent:
    agent.telemetry(**sample_of(state, odometry(1.0, 2.0, 0.5), read_config({})))
    for event in events_of(diagnostics(motor=2), {}):
        agent.event(**event)
    task = agent.claim(**claim_of(goal_id, goal(1.0, 2.0), "Drive"))
    evidence, outcome = completion_of(6, result, secrets.token_hex(16))
    task.complete(evidence, outcome=outcome)
    agent.flush(30)
    print(agent.samples.refused)
`;
  const { stdout } = await python(['-c', script], { SVC_AGENT_SOCKET: agent.socketPath });

  expect(stdout).toBe('0\n');
  const { queues } = await agent.status();
  const counts = [queues.claims, queues.completions, queues.events, queues.samples];
  expect(counts.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  await agent.remove();
});
