import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { callLocally, type LocalReply } from '../support/local-call.ts';
import { startTestService, type TestRobot, type TestService } from '../support/service.ts';
import type { Send } from '../support/wire.ts';

let service: TestService;
let robot: TestRobot;
let agent: TestAgent;

beforeAll(async () => {
  service = await startTestService();
  ({ robot } = await service.signInWithRobot());
  agent = await createTestAgent({ url: 'http://127.0.0.1:9', apiKey: robot.apiKey });
  await agent.start();
  // So that both know the task, in whatever order the tests run.
  const claim = { body: { id, title: 'x' } };
  await agent.call('POST', '/api/v1/tasks', claim);
  const { port } = new URL(service.url);
  await callLocally({ host: '127.0.0.1', port: Number(port) }, 'POST', '/api/v1/tasks', {
    ...claim,
    headers: { authorization: `Bearer ${robot.apiKey}` },
  });
});

afterAll(async () => {
  await agent?.remove();
  await service?.close();
});

type Sent = Pick<Send, 'body' | 'raw' | 'headers'>;

const id = randomUUID();
const task = `/api/v1/tasks/${id}`;
const json = 'application/json';
const deep = `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`;
const long = (length: number) => 'x'.repeat(length);
const time = '2026-01-01T00:00:00Z';

it.each<[what: string, method: string, path: string, sent?: Sent]>([
  ['a HEAD', 'HEAD', task],
  ['another method', 'DELETE', '/api/v1/tasks'],
  ['another method with a body', 'PATCH', task, { body: {} }],
  ['OPTIONS', 'OPTIONS', '/api/v1/tasks'],
  ['an unknown path', 'GET', '/api/v1/nothing'],
  ['a path that cannot be decoded', 'GET', '/api/v1/tasks/%zz'],
  ['an id that is none', 'GET', '/api/v1/tasks/x'],
  ['an endless id', 'GET', `/api/v1/tasks/${long(300)}`],
  ['a slash at the end', 'GET', `${task}/`],
  ['a query where none is taken', 'GET', `${task}?a=1`],
  ['a query beside a body', 'POST', '/api/v1/tasks?a=1', { body: { title: 'x' } }],
  ['no body', 'POST', '/api/v1/tasks'],
  ['an empty body', 'POST', '/api/v1/tasks', { raw: '', headers: { 'content-type': json } }],
  ['text', 'POST', '/api/v1/tasks', { raw: 'x', headers: { 'content-type': 'text/plain' } }],
  ['no media type', 'POST', '/api/v1/tasks', { raw: '{}', headers: { 'content-type': '' } }],
  [
    'another charset',
    'POST',
    '/api/v1/tasks',
    { raw: '{"title":"x"}', headers: { 'content-type': `${json}; charset=latin1` } },
  ],
  [
    'a charset in quotes',
    'POST',
    '/api/v1/tasks',
    { raw: '{"title":"x"}', headers: { 'content-type': `${json}; Charset="UTF-8"` } },
  ],
  [
    'a packed body',
    'POST',
    '/api/v1/tasks',
    { raw: '{"title":"x"}', headers: { 'content-encoding': 'gzip' } },
  ],
  ['null', 'POST', '/api/v1/tasks', { raw: 'null' }],
  ['a list', 'POST', '/api/v1/tasks', { raw: '[]' }],
  ['broken JSON', 'POST', '/api/v1/tasks', { raw: '{"title":"x",}' }],
  ['a deep body', 'POST', '/api/v1/tasks', { raw: deep }],
  ['a deep plan', 'POST', '/api/v1/tasks', { raw: `{"title":"x","expected_result":${deep}}` }],
  ['half a character', 'POST', '/api/v1/tasks', { raw: '{"title":"\\ud800"}' }],
  ['a NUL', 'POST', '/api/v1/tasks', { raw: '{"title":"a\\u0000b"}' }],
  ['an empty title', 'POST', '/api/v1/tasks', { body: { title: '' } }],
  ['a long title', 'POST', '/api/v1/tasks', { body: { title: long(201) } }],
  ['200 characters of two units', 'POST', '/api/v1/tasks', { body: { title: '😀'.repeat(200) } }],
  [
    'a long description',
    'POST',
    '/api/v1/tasks',
    { body: { title: 'x', description: long(2001) } },
  ],
  ['a null description', 'POST', '/api/v1/tasks', { body: { title: 'x', description: null } }],
  ['a claim id that is none', 'POST', '/api/v1/tasks', { body: { title: 'x', id: 'x' } }],
  [
    'a claim id in capitals',
    'POST',
    '/api/v1/tasks',
    { body: { title: 'x', id: id.toUpperCase() } },
  ],
  ['a time that is none', 'POST', '/api/v1/tasks', { body: { title: 'x', occurred_at: 'now' } }],
  ['a plan that is a list', 'POST', '/api/v1/tasks', { body: { title: 'x', expected_result: [] } }],
  [
    'a plan too large',
    'POST',
    '/api/v1/tasks',
    { body: { title: 'x', expected_result: { a: long(65_536) } } },
  ],
  [
    'a body too large',
    'POST',
    '/api/v1/tasks',
    { body: { title: 'x', expected_result: { a: long(3_000_000) } } },
  ],
  ['no proof', 'POST', `${task}/complete`, { body: {} }],
  ['a null proof', 'POST', `${task}/complete`, { body: { proof: null } }],
  ['more than a proof', 'POST', `${task}/complete`, { body: { proof: {}, extra: 1 } }],
  ['a proof too large', 'POST', `${task}/complete`, { body: { proof: { a: long(262_144) } } }],
  ['a number beyond all', 'POST', `${task}/complete`, { raw: '{"proof":{"a":1e400}}' }],
  ['a deep proof', 'POST', `${task}/complete`, { raw: `{"proof":${deep}}` }],
  ['an empty sample', 'POST', '/api/v1/telemetry', { body: {} }],
  ['a battery in words', 'POST', '/api/v1/telemetry', { body: { battery_pct: '80' } }],
  ['a battery below nothing', 'POST', '/api/v1/telemetry', { body: { battery_pct: -1 } }],
  ['a long state', 'POST', '/api/v1/telemetry', { body: { state: long(65) } }],
  ['nothing measured', 'POST', '/api/v1/telemetry', { body: { state: null, battery_pct: null } }],
  ['metrics in a list', 'POST', '/api/v1/telemetry', { body: { metrics: [] } }],
  ['null metrics', 'POST', '/api/v1/telemetry', { body: { metrics: null } }],
  ['metrics too large', 'POST', '/api/v1/telemetry', { body: { metrics: { a: long(16_384) } } }],
  ['a date alone', 'POST', '/api/v1/telemetry', { body: { recorded_at: '2026-01-01' } }],
  [
    'another zone',
    'POST',
    '/api/v1/telemetry',
    { body: { recorded_at: '2026-01-01T01:00:00+01:00' } },
  ],
  ['one and several', 'POST', '/api/v1/telemetry', { body: { samples: [{}], battery_pct: 1 } }],
  ['samples in an object', 'POST', '/api/v1/telemetry', { body: { samples: {} } }],
  [
    'a sample twice',
    'POST',
    '/api/v1/telemetry',
    { body: { samples: [1, 2].map(() => ({ id, recorded_at: time })) } },
  ],
  ['a long event type', 'POST', '/api/v1/events', { body: { event_type: long(65) } }],
  ['a long message', 'POST', '/api/v1/events', { body: { event_type: 'x', message: long(2001) } }],
  [
    'a payload too large',
    'POST',
    '/api/v1/events',
    { body: { event_type: 'x', payload: { a: long(16_384) } } },
  ],
  ['a null severity', 'POST', '/api/v1/events', { body: { event_type: 'x', severity: null } }],
  ['an event at no time', 'POST', '/api/v1/events', { body: { event_type: 'x', occurred_at: 5 } }],
  ['an event id that is none', 'POST', '/api/v1/events', { body: { event_type: 'x', id: 'x' } }],
  [
    'an unknown expectation',
    'POST',
    '/api/v1/tasks',
    { raw: '{"title":"x"}', headers: { expect: 'more' } },
  ],
  ['headers too large', 'GET', task, { headers: { 'x-long': long(20_000) } }],
])('answers %s as the service does', async (_, method, path, sent = {}) => {
  const { port } = new URL(service.url);
  const outcome = (reply: Promise<LocalReply>) =>
    reply.then(
      ({ status, body }) => `${status} ${body?.error ?? ''}`,
      (error) => `no answer: ${error.message}`,
    );
  const [ofAgent, ofService] = await Promise.all([
    outcome(agent.call(method, path, sent)),
    outcome(
      callLocally({ host: '127.0.0.1', port: Number(port) }, method, path, {
        ...sent,
        headers: { authorization: `Bearer ${robot.apiKey}`, ...sent.headers },
      }),
    ),
  ]);
  // Only the service can tell which other tasks there are.
  const isFar = /^(GET|HEAD)$/.test(method) && ofAgent.startsWith('503 ');
  const ofFar = method === 'HEAD' ? '404 ' : '404 not_found';
  expect(isFar ? ofFar : ofAgent).toBe(ofService);
});
