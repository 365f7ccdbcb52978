// Numbers that programs of robots write and no double holds.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent } from '../support/agent.ts';
import { runInProcess } from '../support/run-in-process.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** As the program writes it. */
  literal: string;
  /** What is stored. */
  stored: number;
}

const rounded: Row[] = [
  {
    name: 'a ROS stamp in nanoseconds',
    report: 'facontidavide/ros_type_introspection 6, foxglove/foxglove-sdk 1352',
    literal: '1763500000000000001',
    stored: 1763500000000000000,
  },
  {
    name: 'a stamp of a database of time series',
    report: 'influxdata/influxdb 6370',
    literal: '1460549358372198212',
    stored: 1460549358372198100,
  },
  {
    name: 'the first integer that no double holds',
    report: 'nats-io/nats.js 214',
    literal: '9007199254740993',
    stored: 9007199254740992,
  },
  {
    name: 'a negative one',
    report: 'of our own',
    literal: '-9007199254740993',
    stored: -9007199254740992,
  },
  {
    name: 'the largest of 64 bits',
    report: 'of our own',
    literal: '18446744073709551615',
    stored: 18446744073709552000,
  },
  {
    name: 'an integer with an exponent',
    report: 'of our own',
    literal: '1.2345678901234567891e19',
    stored: 12345678901234567000,
  },
  { name: 'a number that is almost 0', report: 'of our own', literal: '1e-400', stored: 0 },
];

const refused: [string, string][] = [
  ['a number beyond the range of a double', '1e400'],
  ['a negative number beyond the range of a double', '-1e400'],
  ['an integer of 400 digits', '9'.repeat(400)],
  ['NaN, which is no JSON', 'NaN'],
];

const STAMP = '1763500000000000001';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
let folder: string;
beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  ({ owner, robot } = await service.signInWithRobot());
  folder = await mkdtemp(path.join(tmpdir(), 'svc-numbers-'));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

const post = (target: string, raw: string) =>
  service.call('POST', `/api/v1/${target}`, { apiKey: robot.apiKey, raw });

async function file(name: string, content: string): Promise<string> {
  const at = path.join(folder, name);
  await writeFile(at, content);
  return at;
}

describe('telemetry', () => {
  it.each(rounded)('stores $name as the nearest double', async ({ literal, stored }) => {
    const { robot: own } = await service.signInWithRobot();
    const others = '{"metrics":{"speed":0.5}},'.repeat(49);
    const raw = `{"samples":[${others}{"metrics":{"stamp":${literal},"nested":[${literal}]}}]}`;

    const reply = await service.call('POST', '/api/v1/telemetry', { apiKey: own.apiKey, raw });

    expect(reply).toMatchObject({ status: 201, body: { accepted: 50 } });
    expect(reply.body.samples.at(-1).metrics).toEqual({ stamp: stored, nested: [stored] });
  });

  it.each(rounded)('accepts a repeated sample with $name', async ({ literal, stored }) => {
    const at = `"id":"${randomUUID()}","recorded_at":"${new Date().toISOString()}"`;
    const sample = (number: string) => `{${at},"metrics":{"stamp":${number}}}`;

    const replies = [
      await post('telemetry', sample(literal)),
      await post('telemetry', sample(literal)),
      await post('telemetry', sample(String(stored))),
    ];

    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await post('telemetry', sample('7'))).toMatchObject({ status: 409 });
  });

  it.each(refused)('refuses %s', async (_, literal) => {
    const reply = await post('telemetry', `{"metrics":{"stamp":${literal}}}`);

    expect(reply.status).toBe(400);
  });
});

describe('events', () => {
  it.each(rounded)('store $name as the nearest double, and repeat', async ({ literal, stored }) => {
    const event = `{"id":"${randomUUID()}","event_type":"info","payload":{"at":{"stamp":${literal}}}}`;

    const [first, second] = [await post('events', event), await post('events', event)];

    expect(first.status).toBe(201);
    expect(first.body.event.payload).toEqual({ at: { stamp: stored } });
    expect(second.body.event).toEqual(first.body.event);
  });

  it.each(refused)('refuse %s', async (_, literal) => {
    const reply = await post('events', `{"event_type":"info","payload":{"stamp":${literal}}}`);

    expect(reply.status).toBe(400);
  });
});

describe('the agent', () => {
  it('records and delivers samples and events with these numbers', async () => {
    const agent = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
    onTestFinished(() => agent.remove());
    await agent.start();
    const env = agent.environment;
    const run = (...args: string[]) => runInProcess('svc-agent', args, { env });
    const payload = await file('payload.json', `{"stamp":${STAMP}}`);
    const samples = await file('samples.json', `{"samples":[{"metrics":{"stamp":${STAMP}}},{}]}`);
    const since = new Date(Date.now() - 1000).toISOString();

    const answers = [
      await run('telemetry', samples),
      await run('telemetry', '--metric', `stamp=${STAMP}`),
      await run('event', 'stamped', '--payload', payload),
    ];

    expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const { session } = owner;
    await waitFor('the event', async () => {
      const { body } = await service.call('GET', `/api/v1/events?event_type=stamped`, { session });
      return body.items[0]?.payload.stamp === Number(STAMP);
    });
    await waitFor('the samples', async () => {
      const target = `/api/v1/robots/${robot.id}/telemetry?from=${since}`;
      const { body } = await service.call('GET', target, { session });
      const stamps = body.items.map(
        ({ metrics }: { metrics: { stamp?: number } }) => metrics.stamp,
      );
      return stamps.filter((stamp: number) => stamp === Number(STAMP)).length >= 2;
    });
  });
});

const hashed: [string, string, string][] = [
  ['an integer in an object', `{"header":{"stamp":${STAMP}}}`, '/header/stamp'],
  ['an integer in a list', `[{"stamps":[1,${STAMP}]}]`, '/0/stamps/1'],
  ['an integer at a name with a slash', `{"a/b":{"~":${STAMP}}}`, '/a~1b/~0'],
  ['a number beyond the range', '{"header":{"stamp":1e400}}', '/header/stamp'],
];

describe('evidence', () => {
  it.each(hashed)('with %s is refused with its path and what to do', async (_, text, pointer) => {
    const { body } = await service.call('POST', '/api/v1/tasks', {
      apiKey: robot.apiKey,
      body: { title: 'Weld' },
    });

    const reply = await post(`tasks/${body.task.id}/complete`, `{"proof":${text}}`);

    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_proof' } });
    expect(reply.body.message).toContain('send it as a string');
    expect(reply.body.message).toContain(`${JSON.stringify(pointer)} of proof`);
  });

  it('of a claim is refused in the same way', async () => {
    const reply = await post('tasks', `{"title":"Weld","expected_result":{"stamp":${STAMP}}}`);

    expect(reply.status).toBe(400);
    expect(reply.body.message).toMatch(/send it as a string, at "\/.*stamp"/);
    expect(reply.body.message).toContain('expected_result');
  });
});

describe('--big-integers string', () => {
  const text = `{"n":7,"next":1763500000000000000,"stamps":[${STAMP},-${STAMP}],"x":0.5}`;
  const converted = {
    n: 7,
    next: '1763500000000000000',
    stamps: [STAMP, `-${STAMP}`],
    x: 0.5,
  };
  const canonical = JSON.stringify(converted);
  const svc = (...args: string[]) => runInProcess('svc', args);

  it('is what svc hash advises', async () => {
    const { exitCode, stderr } = await svc('hash', await file('evidence.json', text));

    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('send it as a string, at "/stamps/0"');
    expect(stderr).toContain('--big-integers string');
  });

  it('hashes and prints the converted document', async () => {
    const evidence = await file('evidence.json', text);

    const plain = await svc('hash', evidence, '--big-integers', 'string');
    const json = await svc('hash', evidence, '--big-integers', 'string', '--json');

    expect(plain.stdout).toBe(`${hashProof(converted)}\n`);
    expect(plain.stderr.split('\n')).toContain(canonical);
    expect(JSON.parse(json.stdout).hashes).toEqual([
      { file: evidence, proof_hash: hashProof(converted), document: converted },
    ]);
  });

  it('hashes the printed document to the same value without the option', async () => {
    const printed = await file('printed.json', canonical);

    expect((await svc('hash', printed)).stdout).toBe(`${hashProof(converted)}\n`);
  });

  it('changes nothing if no integer is large', async () => {
    const evidence = await file('small.json', '{"n":9007199254740991,"x":1e21,"y":1.5}');

    const [with_, without] = [
      await svc('hash', evidence, '--big-integers', 'string'),
      await svc('hash', evidence),
    ];

    expect(with_.stdout).toBe(without.stdout);
  });

  it.each([
    ['1e400', 'beyond the range'],
    ['1e-400', 'would become 0'],
    ['1.2345678901234567891e19', 'would change'],
  ])('still refuses %s, which is not written as an integer', async (literal, reason) => {
    const evidence = await file('other.json', `{"n":${literal}}`);

    const { exitCode, stderr } = await svc('hash', evidence, '--big-integers', 'string');

    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(reason);
  });

  it('knows no other conversion', async () => {
    const evidence = await file('evidence.json', text);

    const { exitCode, stderr } = await svc('hash', evidence, '--big-integers', 'round');

    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('string');
  });

  it('makes svc-agent complete submit the converted document', async () => {
    const agent = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
    onTestFinished(() => agent.remove());
    await agent.start();
    const task = await agent.claim();
    const evidence = await file('evidence.json', text);
    const env = agent.environment;

    const refusal = await runInProcess('svc-agent', ['complete', task, evidence], { env });
    const args = ['complete', task, evidence, '--big-integers', 'string'];
    const { exitCode, stdout, stderr } = await runInProcess('svc-agent', args, { env });

    expect(refusal.stderr).toContain('send it as a string, at "/stamps/0"');
    expect(exitCode).toBe(8);
    expect(stderr.split('\n')).toContain(canonical);
    expect(JSON.parse(stdout)).toMatchObject({ proof_hash: hashProof(converted) });
  });

  it('lets svc verify compare the evidence as it was submitted', async () => {
    const claimed = await post('tasks', '{"title":"Weld"}');
    const completed = await post(
      `tasks/${claimed.body.task.id}/complete`,
      `{"proof":${canonical}}`,
    );
    expect(completed.status).toBe(200);
    const evidence = await file('evidence.json', text);
    const at = ['--url', service.url, '--rpc-url', service.rpcUrl, '--json'];
    const converting = ['--big-integers', 'string'];
    const verify = async (...args: string[]) => {
      const { stdout, stderr } = await svc('verify', ...args, ...at);
      return { printed: stderr.split('\n'), stdout };
    };

    const given = await verify(hashProof(converted), '--proof', evidence, ...converting);
    const subject = await verify(evidence, ...converting);
    const refused = await verify(evidence);

    for (const { printed, stdout } of [given, subject]) {
      expect(printed).toContain(canonical);
      expect(JSON.parse(stdout)).toMatchObject({ verified: true, evidence: 'matches' });
    }
    expect(refused.printed.join()).toContain('--big-integers string');
  });
});
