import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { Compile } from 'typebox/compile';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentError } from '../../src/agent/errors.ts';
import { buildLocalApi } from '../../src/agent/local-api/app.ts';
import type { LocalDeps } from '../../src/agent/local-api/call.ts';
import { listenOnLoopback, listenOnSocket } from '../../src/agent/local-api/listen.ts';
import { DiskReserve } from '../../src/agent/spool/limits.ts';
import type { Spool } from '../../src/agent/spool/spool.ts';
import { SvcError } from '../../src/base/svc-error.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { routes } from '../../src/protocol/routes.ts';
import { callLocally } from '../support/local-call.ts';
import { createTemporarySpool, MIB } from '../support/temporary-spool.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Send } from '../support/wire.ts';

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;
let app: FastifyInstance;
let socketPath: string;
let stopping: AbortController;

const deps = (): LocalDeps => ({
  spool,
  clock: place.clock,
  readTask: async () => {
    throw agentError('service_unreachable', 'The service cannot be reached.');
  },
  status: async () => ({ connected: false }),
  logger: pino({ level: 'silent' }),
  stopping: stopping.signal,
});

beforeEach(async () => {
  place = createTemporarySpool();
  spool = place.open();
  stopping = new AbortController();
  app = buildLocalApi(deps(), { token: null });
  socketPath = path.join(place.folder, 'run', 'agent.sock');
  await listenOnSocket(app, socketPath);
});

afterEach(async () => {
  vi.restoreAllMocks();
  stopping.abort();
  await app.close();
  place.remove();
});

const call = (method: string, target: string, sent?: Pick<Send, 'body' | 'raw' | 'headers'>) =>
  callLocally({ socketPath }, method, target, sent);
const claim = async (body: object = { title: 'Pick' }): Promise<string> =>
  (await call('POST', '/api/v1/tasks', { body })).body.task.id;
const complete = (id: string, proof: unknown, headers: Record<string, string> = {}) =>
  call('POST', `/api/v1/tasks/${id}/complete`, { body: { proof }, headers });

const proof = { picked: 12 };
const verificationOf = (id: string): Verification => ({
  format: 'svc-receipt/1',
  task_id: id,
  robot_id: '01a1fa88-625b-75cb-b0f4-68b936962d71',
  status: 'verified',
  proof_hash: hashProof(proof),
  tx_hash: `0x${'1'.repeat(64)}`,
  block_number: '12',
  anchored_at: '2026-01-15T12:00:00.000Z',
  explorer_url: 'https://explorer.test/tx/1',
  chain_id: 31337,
  claim_hash: `0x${'2'.repeat(64)}`,
  inclusion: null,
  finality: 'included',
});
const settle = (id: string) =>
  spool.settle(id, { proofHash: hashProof(proof), verification: verificationOf(id) });

describe('without the service', () => {
  it('answers claims and samples in the format of the service', async () => {
    const claimed = await call('POST', '/api/v1/tasks', { body: { title: 'Pick' } });
    const recorded = await call('POST', '/api/v1/telemetry', {
      body: { samples: [{ battery_pct: 80 }, { state: 'busy', metrics: { speed: 0.4 } }] },
    });

    expect([claimed.status, recorded.status]).toEqual([201, 201]);
    expect([...Compile(routes.createTask.responses[201]).Errors(claimed.body)]).toEqual([]);
    expect([...Compile(routes.recordSamples.responses[201]).Errors(recorded.body)]).toEqual([]);
    expect(recorded.body.samples[0]).toMatchObject({
      battery_pct: 80,
      state: null,
      recorded_at: new Date(place.clock.now().wallMs).toISOString(),
    });
  });

  it('answers events before it knows the id of its robot', async () => {
    const body = { event_type: 'error', message: 'Gripper jammed', payload: { axis: 3 } };

    const { status, body: answer } = await call('POST', '/api/v1/events', { body });

    expect(status).toBe(201);
    expect(answer.event).toMatchObject({ ...body, severity: 'info', robot_id: null });
  });

  it('knows its robot once the key was accepted, even after a restart', async () => {
    const robotId = randomUUID();
    await spool.update(({ state }) => state.keepRobotId(robotId));
    await app.close();
    place.close(spool);
    spool = place.open();
    app = buildLocalApi(deps(), { token: null });
    await listenOnSocket(app, socketPath);

    const event = await call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    const task = await call('GET', `/api/v1/tasks/${await claim()}`);

    expect([event.body.event.robot_id, task.body.task.robot_id]).toEqual([robotId, robotId]);
  });

  it('answers a proof with 202 and the hash that the service would compute', async () => {
    const id = await claim();

    const { status, body } = await complete(id, proof);

    expect(status).toBe(202);
    expect(body).toEqual({
      status: 'pending',
      error: 'anchor_unconfirmed',
      message: expect.any(String),
      proof_hash: hashProof(proof),
      tx_hash: null,
      explorer_url: null,
      state: 'queued',
      task_id: id,
      queued_at: new Date(place.clock.now().wallMs).toISOString(),
    });
  });

  it('shows its own tasks, and reports that it cannot know others', async () => {
    const id = await claim({ title: 'Pick', expected_result: { parcels: 12 } });
    await complete(id, proof);

    const { body } = await call('GET', `/api/v1/tasks/${id}`);
    const other = await call('GET', `/api/v1/tasks/${randomUUID()}`);

    expect(body).toMatchObject({
      task: { id, title: 'Pick', status: 'claimed', expected_result: { parcels: 12 } },
      anchor: { state: 'queued', proof_hash: hashProof(proof), tx_hash: null },
      verification: null,
    });
    expect([other.status, other.body.error]).toEqual([503, 'service_unreachable']);
  });

  it('reports its status', async () => {
    expect(await call('GET', '/api/v1/status')).toMatchObject({
      status: 200,
      body: { connected: false },
    });
  });
});

describe('evidence of a task that this machine has not claimed', () => {
  const warned = (id: string) => expect.stringContaining(`not claimed task ${id}`);
  let answer: string;
  beforeEach(async () => {
    answer = 'not_found';
    await app.close();
    const readTask = async () => {
      throw new SvcError(answer, 'No.');
    };
    app = buildLocalApi({ ...deps(), readTask }, { token: null });
    await listenOnSocket(app, socketPath);
  });

  it('is refused if the service does not know the task', async () => {
    const id = randomUUID();

    const { status, body } = await complete(id, proof);

    expect([status, body.error]).toEqual([404, 'not_found']);
    expect(spool.findCompletion(id)).toBeNull();
  });

  it('is stored with a warning if the caller insists', async () => {
    const id = randomUUID();

    const { status, body } = await complete(id, proof, { prefer: 'wait=0, handling=lenient' });

    expect([status, body.warning]).toEqual([202, expect.stringContaining('does not know task')]);
    expect(spool.findCompletion(id)).not.toBeNull();
  });

  it.each(['service_unreachable', 'unexpected_answer', 'internal_error', 'rate_limited'])(
    'is stored with a warning if the service answers %s',
    async (code) => {
      answer = code;
      const id = randomUUID();

      const { status, body } = await complete(id, proof);

      expect([status, body.warning]).toEqual([202, warned(id)]);
      expect(spool.findCompletion(id)).not.toBeNull();
    },
  );

  it('is stored without a warning if the spool had the task before', async () => {
    const claimed = await claim();
    const aside = await claim();
    await complete(aside, proof);
    const completion = spool.findCompletion(aside);
    if (completion === null) throw new Error('no completion');
    await spool.refuseTask(completion, { code: 'not_found', message: 'No.' });

    const answers = [await complete(claimed, proof), await complete(aside, { picked: 13 })];

    expect(answers.map(({ status, body }) => [status, body.warning])).toEqual([
      [202, undefined],
      [202, undefined],
    ]);
  });
});

describe('repeated calls', () => {
  it('return the same claim, and refuse different content under its id', async () => {
    const body = { id: randomUUID(), title: 'Pick', expected_result: { a: 1, b: 2 } };
    const first = await call('POST', '/api/v1/tasks', { body });
    place.clock.advance(5000);

    const again = await call('POST', '/api/v1/tasks', {
      body: { ...body, expected_result: { b: 2, a: 1 } },
    });
    const other = await call('POST', '/api/v1/tasks', { body: { ...body, title: 'Drop' } });

    expect([again.status, again.body]).toEqual([201, first.body]);
    expect([other.status, other.body.error]).toEqual([409, 'id_conflict']);
  });

  it.each([
    {
      sent: 'the same evidence',
      second: proof,
      same: true,
      says: 'is stored and not anchored yet',
    },
    {
      sent: 'other evidence',
      second: { picked: 13 },
      same: false,
      says: 'was NOT stored, because',
    },
  ])('keep the first proof of a task, and report whether $sent is stored', async (given) => {
    const id = await claim();
    await complete(id, proof);

    const { status, body } = await complete(id, given.second);

    expect([status, body.error]).toEqual([409, 'completion_in_progress']);
    expect(body).toMatchObject({ proof_hash: hashProof(proof), same_evidence: given.same });
    expect(body.message).toContain(given.says);
    expect(spool.findCompletion(id)?.proofHash).toBe(hashProof(proof));
  });

  it.each([
    { sent: 'the same evidence', second: proof, same: true },
    { sent: 'other evidence', second: { picked: 13 }, same: false },
  ])('return the receipt once it exists, and report whether it is for $sent', async (given) => {
    const id = await claim();
    await complete(id, proof);
    await settle(id);

    const { status, body } = await complete(id, given.second);

    expect([status, body.error]).toEqual([409, 'already_completed']);
    expect(body.same_evidence).toBe(given.same);
    expect(body.message.includes('was NOT stored')).toBe(!given.same);
    expect(body).toMatchObject({ proof_hash: hashProof(proof), verification: verificationOf(id) });
  });
});

describe('Prefer: wait', () => {
  it('answers with the receipt as soon as it arrives', async () => {
    const id = await claim();
    const waiting = complete(id, proof, { prefer: 'respond-async, wait=60' });
    await waitFor('the completion', () => spool.findCompletion(id));

    await settle(id);

    const { status, headers, body } = await waiting;
    expect([status, headers['preference-applied']]).toEqual([200, 'wait=60']);
    expect(body).toEqual({ verification: verificationOf(id) });
  });

  it.each([
    ['wait=99999999999', '600'],
    ['respond-async; WAIT="7"', '7'],
  ])('is limited to ten minutes and parsed according to RFC 7240: %s', async (prefer, seconds) => {
    const id = await claim();
    const waiting = complete(id, proof, { prefer });
    await waitFor('the completion', () => spool.findCompletion(id));

    await settle(id);

    expect((await waiting).headers['preference-applied']).toBe(`wait=${seconds}`);
  });

  it('answers with the refusal of the service when it arrives', async () => {
    const id = randomUUID();
    const waiting = complete(id, proof, { prefer: 'wait=60' });
    const completion = await waitFor('the completion', () => spool.findCompletion(id));

    await spool.refuseTask(completion, { code: 'not_found', message: 'No such task.' });

    const { status, body } = await waiting;
    expect([status, body.error]).toEqual([404, 'not_found']);
    expect(body.message).toContain('No such task.');
  });
});

describe('one bad sample among 50', () => {
  const good = (n: number) =>
    `{"id":"${randomUUID()}","recorded_at":"2026-01-01T00:00:00Z","metrics":{"n":${n}}}`;
  const setAside = () => spool.read(({ settled }) => settled.refused(10));

  it.each<[what: string, sample: string, message: string, kept?: false]>([
    ['a stamp beyond the doubles', '{"metrics":{"t":1e400}}', 'is beyond the range'],
    [
      'the same name twice',
      '{"metrics":{"a":1,"a":2},"state":"]"}',
      'at "/17/metrics/a" of samples',
    ],
    ['half a character', '{"state":"\\ud800"}', 'at "/17/state" of samples'],
    ['a battery above 100', '{"battery_pct":101}', 'samples.17.battery_pct must be'],
    ['an unknown field', '{"speed":1}', 'samples.17.speed is not a known field'],
    ['an id that is none', '{"id":"x"}', 'samples.17.id must be a UUID'],
    ['an id without a time', `{"id":"${randomUUID()}"}`, 'samples.17.recorded_at is required'],
    [
      'metrics too large',
      `{"metrics":{"a":"${'x'.repeat(17_000)}"}}`,
      'samples.17.metrics must have',
    ],
    ['no object', '5', 'samples.17 must be', false],
    ['nothing', 'null', 'samples.17 must be', false],
    [
      'too much nesting',
      `{"metrics":${'{"a":'.repeat(140)}1${'}'.repeat(141)}`,
      'Nesting goes deeper',
    ],
  ])('does not cause the others to be refused: %s', async (_, sample, message, isKept) => {
    const samples = Array.from({ length: 50 }, (__, n) => (n === 17 ? sample : good(n)));
    const raw = ` { "samples" : [ ${samples.join(' , ')} ] } `;

    const { status, body } = await call('POST', '/api/v1/telemetry', { raw });

    expect([status, body.accepted, body.samples.length]).toEqual([201, 49, 49]);
    expect(body.set_aside).toEqual([
      { index: 17, error: 'invalid_sample', message: expect.stringContaining(message) },
    ]);
    await spool.update(() => {});
    const stored = spool.read((tables) => tables.samples.read({ firstSeq: 0, lastSeq: 100 }));
    expect(stored.map((one) => JSON.parse(one.body).metrics.n)).toEqual(
      [...Array(50).keys()].filter((n) => n !== 17),
    );
    expect(setAside().map((one) => [one.code, one.body])).toEqual(
      isKept === false ? [] : [['invalid_sample', sample]],
    );
  });

  it('is one of several, which are listed in order', async () => {
    const samples = ['{"metrics":{"t":1e400}}', good(1), '{"battery_pct":-1}', good(3)];
    const { body } = await call('POST', '/api/v1/telemetry', {
      raw: `{"samples":[${samples}]}`,
    });

    expect(body.accepted).toBe(2);
    expect(body.set_aside.map(({ index }: { index: number }) => index)).toEqual([0, 2]);
  });

  it.each([
    ['all are bad', '{"samples":[{"battery_pct":-1},{"metrics":{"t":1e400}}]}', 'invalid_sample'],
    ['a single one is bad', '{"metrics":{"t":1e400}}', 'invalid_sample'],
    ['a fault is outside of the samples', `{"samples":[${'{}'}],"state":1e400}`, 'invalid_sample'],
    [
      'there is another field',
      '{"samples":[{"battery_pct":-1},{}],"state":"idle"}',
      'invalid_sample',
    ],
    [
      'the list is there twice',
      '{"samples":[{"metrics":{"t":1e400}}],"samples":[{}]}',
      'invalid_sample',
    ],
    ['samples is an object', '{"samples":{"0":{"metrics":[1e400]}}}', 'invalid_sample'],
    ['the text breaks off', '{"samples":[{"metrics":{"t":1e400}},{}', 'invalid_json'],
  ])('causes the whole request to be refused if %s', async (_, raw, code) => {
    const { status, body } = await call('POST', '/api/v1/telemetry', { raw });

    expect([status, body.error]).toEqual([400, code]);
    await spool.update(() => {});
    expect(spool.read(({ samples }) => samples.ends())).toBeNull();
    expect(setAside()).toEqual([]);
  });

  it('may have a long text with many escapes', async () => {
    const state = '\\"]'.repeat(200_000);
    const raw = `{"samples":[{"metrics":{"t":1e400}},{"metrics":{"a":"${state}"}},{}]}`;
    const { body } = await call('POST', '/api/v1/telemetry', { raw });

    expect([body.accepted, body.set_aside.length]).toEqual([1, 2]);
  });
});

describe('an invalid request', () => {
  const id = '018f0000-0000-7000-8000-00000000000a';

  it.each([
    ['/api/v1/tasks', {}, 400, 'invalid_request'],
    ['/api/v1/tasks', { title: ' ' }, 400, 'invalid_request'],
    ['/api/v1/tasks', { title: 'Pick', extra: 1 }, 400, 'invalid_request'],
    [`/api/v1/tasks/${id}/complete`, { proof: 'text' }, 400, 'invalid_proof'],
    ['/api/v1/tasks/x/complete', { proof: {} }, 404, 'not_found'],
    ['/api/v1/telemetry', { battery_pct: 101 }, 400, 'invalid_sample'],
    ['/api/v1/telemetry', { id }, 400, 'invalid_sample'],
    ['/api/v1/telemetry', { samples: [] }, 400, 'invalid_sample'],
    ['/api/v1/telemetry', { samples: new Array(51).fill({}) }, 413, 'batch_too_large'],
    ['/api/v1/telemetry', { metrics: { a: 'x'.repeat(17_000) } }, 400, 'invalid_sample'],
    ['/api/v1/events', { event_type: '' }, 400, 'invalid_event_type'],
    ['/api/v1/events', { event_type: 'x', severity: 'bad' }, 400, 'invalid_severity'],
    ['/api/v1/robots', { name: 'x' }, 404, 'not_found'],
  ])('%s with %j: %i %s', async (target, body, status, error) => {
    const reply = await call('POST', target, { body });

    expect([reply.status, reply.body.error]).toEqual([status, error]);
  });

  it.each([
    ['{"proof":{"ns":1424869691565433684}}', 'invalid_proof'],
    ['{"proof":{"a":1,"a":2}}', 'invalid_proof'],
    ['{"proof":', 'invalid_json'],
    ['', 'invalid_json'],
  ])('has evidence that would change silently: %s', async (raw, error) => {
    const reply = await call('POST', `/api/v1/tasks/${randomUUID()}/complete`, { raw });

    expect([reply.status, reply.body.error]).toEqual([400, error]);
  });

  it.each([
    ['/api/v1/tasks', { title: 'Pick', occurred_at: '2026-01-15T12:00:00' }, 'occurred_at'],
    ['/api/v1/events', { event_type: 'x', occurred_at: '20260115T12' }, 'occurred_at'],
    ['/api/v1/telemetry', { state: 'x', recorded_at: '2026-01-15T12:00' }, 'recorded_at'],
    [
      '/api/v1/telemetry',
      { samples: [{ state: 'x', recorded_at: '2026-01-15T12:00' }] },
      'samples.0.recorded_at',
    ],
  ])('has a time without a zone: %s with %j', async (target, body, field) => {
    const reply = await call('POST', target, { body });

    const message = `${field} has no time zone: append Z for UTC, or an offset such as +01:00.`;
    expect([reply.status, reply.body.message]).toEqual([400, message]);
  });

  it.each([
    ['/api/v1/tasks', { titel: 'Pick' }, 'titel is not a known field. Did you mean title?'],
    [
      '/api/v1/telemetry',
      { samples: [{ batery_pct: 5 }] },
      'samples.0.batery_pct is not a known field. Did you mean battery_pct?',
    ],
    [
      '/api/v1/events',
      { evnet_type: 'x' },
      'evnet_type is not a known field. Did you mean event_type?',
    ],
  ])('has a misspelt member: %s with %j', async (target, body, message) => {
    const reply = await call('POST', target, { body });

    expect([reply.status, reply.body.message]).toEqual([400, message]);
  });

  it('does not include a time or date in a proof', async () => {
    const id = await claim({ title: 'Pick', occurred_at: '2026-01-15' });

    const reply = await complete(id, { at: '2026-01-15T12:00:00' });

    expect(reply.status).toBe(202);
  });

  it('comes from a web page', async () => {
    const reply = await call('GET', '/api/v1/status', { headers: { origin: 'http://localhost' } });

    expect([reply.status, reply.body.error]).toEqual([403, 'forbidden_origin']);
  });

  it('is answered with the full disk as the reason, for a claim, evidence and a sample', async () => {
    vi.spyOn(DiskReserve.prototype, 'hold').mockReturnValue(false);

    const replies = [
      await call('POST', '/api/v1/tasks', { body: { title: 'Pick' } }),
      await complete(randomUUID(), proof),
      await call('POST', '/api/v1/telemetry', { body: { battery_pct: 3 } }),
    ];

    const message = 'Cannot write the spool now; the disk may be full.';
    const full = [507, { error: 'spool_full', message }];
    expect(replies.map(({ status, body }) => [status, body])).toEqual([full, full, full]);
  });

  it('is a claim, not a sample, when the space for claims is used up', async () => {
    await app.close();
    place.close(spool);
    spool = place.open({ maxBytes: 3 * MIB });
    app = buildLocalApi(deps(), { token: null });
    await listenOnSocket(app, socketPath);
    const body = { title: 'Pick', expected_result: { plan: 'x'.repeat(60_000) } };
    let reply = await call('POST', '/api/v1/tasks', { body });
    for (let i = 0; i < 40 && reply.status === 201; i++) {
      reply = await call('POST', '/api/v1/tasks', { body });
    }

    expect([reply.status, reply.body.error]).toEqual([507, 'spool_full']);
    expect(reply.body.message).toContain('SVC_AGENT_SPOOL_MAX_MB');
    const sample = await call('POST', '/api/v1/telemetry', { body: { battery_pct: 3 } });
    expect(sample.status).toBe(201);
  });
});

describe('the address of the local API', () => {
  it('is a socket for its owner and group, in a folder that others cannot enter', () => {
    expect(statSync(socketPath).mode & 0o777).toBe(0o660);
    expect(statSync(path.dirname(socketPath)).mode & 0o777).toBe(0o750);
  });

  it('is not taken from another agent', async () => {
    const second = buildLocalApi(deps(), { token: null });
    await expect(listenOnSocket(second, socketPath)).rejects.toMatchObject({
      code: 'cannot_listen',
    });
    await second.close();
    expect((await call('GET', '/api/v1/status')).status).toBe(200);
  });

  it('may be loopback TCP, for programs that use its own host name', async () => {
    const token = 'c'.repeat(16);
    const tcp = buildLocalApi(deps(), { token });
    await listenOnLoopback(tcp, { host: '127.0.0.1', port: 0 });
    const at = { host: '127.0.0.1', port: (tcp.server.address() as { port: number }).port };
    const authorization = `Bearer ${token}`;
    const statusFor = async (headers: Record<string, string>) =>
      (await callLocally(at, 'GET', '/api/v1/status', { headers: { authorization, ...headers } }))
        .status;

    expect(await statusFor({})).toBe(200);
    expect(await statusFor({ host: `localhost:${at.port}` })).toBe(200);
    expect(await statusFor({ host: `robot.example.org:${at.port}` })).toBe(403);
    expect(await statusFor({ origin: 'https://example.org' })).toBe(403);
    const spooled = await callLocally(at, 'GET', '/api/v1/spool', { headers: { authorization } });
    expect(spooled.status).toBe(404);
    await tcp.close();
  });
});
