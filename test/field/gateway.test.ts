// How portals, proxies and gateways answer in place of the service. docs/testing.md says how to add a row.
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { reasonOf } from '../../src/agent/uploads/answers.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent } from '../support/agent.ts';
import { quickUploaderPauses } from '../support/quick-pauses.js';
import { runInProcess } from '../support/run-in-process.ts';
import { newEvidence } from '../support/service.ts';
import { type Passing, startServiceProxy } from '../support/service-proxy.ts';
import { numbers, setUpUploads } from '../support/uploads.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

const scene = setUpUploads();

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  status: number;
  type?: string;
  headers?: Record<string, string>;
  body: string;
}

const json = 'application/json';

/** Headers that would stop the agent, move its clock or name another robot, if they counted. */
const lies = { date: 'Thu, 01 Jan 1970 00:00:00 GMT', 'x-ratelimit-limit': '1' };

const rows: Row[] = [
  { name: 'an empty object', report: 'lime-packages 684', status: 200, type: json, body: '{}' },
  { name: 'null', report: 'of our own', status: 200, type: json, body: 'null' },
  { name: 'an empty list', report: 'of our own', status: 200, type: json, body: '[]' },
  { name: 'a word', report: 'of our own', status: 200, type: json, body: '"login"' },
  {
    name: 'its own health',
    report: 'of our own',
    status: 200,
    type: json,
    body: '{"status":"ok"}',
  },
  {
    name: 'a page to sign in',
    report: 'cgeo 2591, karakeep 542',
    status: 200,
    type: 'text/html',
    body: '<!doctype html><title>Wi-Fi</title>',
  },
  {
    name: 'the page of an application as every resource',
    report: 'jellyfin-web 4898',
    status: 201,
    type: 'text/html',
    body: '<div id="root"></div>',
  },
  {
    name: 'a redirect to a page to sign in',
    report: 'mozilla-vpn-client 736',
    status: 302,
    type: 'text/html',
    headers: { location: 'http://127.0.0.1:9/login' },
    body: 'Found',
  },
  {
    name: 'a robot without members, an event and a count of 0',
    report: 'of our own',
    status: 201,
    type: json,
    body: '{"accepted":0,"samples":[],"event":{},"task":null,"robot":{},"verification":{}}',
  },
  {
    name: 'nothing, as a success',
    report: 'of our own',
    status: 204,
    body: '',
  },
  {
    name: 'a missing resource in the words of a framework',
    report: 'commcare-hq 35780',
    status: 404,
    type: json,
    body: '{"status":404,"error":"Not Found","message":"No static resource"}',
  },
  {
    name: 'a missing route in the words of NestJS',
    report: 'of our own',
    status: 404,
    type: json,
    body: '{"statusCode":404,"message":"Cannot POST /api/v1/events","error":"Not Found"}',
  },
  {
    name: 'a missing resource in the words of the service',
    report: 'of our own',
    status: 404,
    type: json,
    body: '{"error":"not_found","message":"There is no such endpoint."}',
  },
  {
    name: 'a conflict in the words of the service, without its status',
    report: 'of our own',
    status: 400,
    type: json,
    body: '{"error":"id_conflict","message":"The id is in use."}',
  },
  {
    name: 'a firewall’s page',
    report: 'pensyve 202, gyrinx 2033',
    status: 403,
    type: 'text/html',
    body: '<h1>Forbidden</h1>',
  },
  {
    name: 'a limit of its own',
    report: 'telegraf 9646',
    status: 429,
    type: json,
    body: '{"error":"rate limited"}',
  },
  {
    name: 'a bad request of another program',
    report: 'fluent-bit 8860',
    status: 400,
    type: 'text/plain; charset=utf-8',
    body: 'Bad Request',
  },
];

function answer(response: ServerResponse, { status, type, headers, body }: Row): void {
  response.writeHead(status, { ...lies, ...(type && { 'content-type': type }), ...headers });
  response.end(body);
}

/** Calls of the agent for all that it delivers. */
async function work() {
  const proof = newEvidence();
  const task = await scene.agent.claim();
  await scene.agent.complete(task, proof);
  await scene.agent.record(numbers(60).slice(0, 50));
  await scene.agent.record(numbers(10, 50));
  const event = { event_type: 'info', message: 'Up' };
  await scene.agent.call('POST', '/api/v1/events', { body: event });
  return { task, proof };
}

async function expectDelivered({ task, proof }: Awaited<ReturnType<typeof work>>) {
  await scene.delivered();
  expect((await scene.remoteTask(task)).body.verification.proof_hash).toBe(hashProof(proof));
  const stored = (await scene.remoteSamples()).map(({ metrics }) => metrics.n);
  expect(stored.sort((a, b) => a - b)).toEqual(numbers(60).map(({ metrics }) => metrics.n));
  expect(await scene.remoteEvents()).toHaveLength(1);
  expect(await scene.agent.status()).toMatchObject({
    refused: 0,
    robot_id: scene.robot.id,
    retried: { count: 0 },
  });
}

const tellsNoBug = async () => {
  const told = JSON.stringify([scene.agent.logLines, await scene.agent.status()]);
  expect(told).not.toMatch(/TypeError|Cannot read|is not iterable|fetch failed/);
};

describe.each(rows)('$name, in place of every answer ($report)', (row) => {
  it('loses nothing, even across a restart, and is reported', async () => {
    await scene.agent.start();
    await scene.state('connected');
    const { calls_per_minute_allowed: allowed } = await scene.agent.status();
    let count = 0;
    scene.proxy.handle(({ response }) => {
      count += 1;
      answer(response, row);
    });
    const given = await work();
    await scene.state('disconnected');
    const before = await scene.agent.status();
    await scene.agent.stop();
    const answered = count;
    await scene.agent.start();
    await waitFor('more answers', () => count > answered + 1, LONG);
    const { last_error: error, queues } = await waitFor(
      'the reason',
      async () => {
        const status = await scene.agent.status();
        return status.last_error === null ? null : status;
      },
      LONG,
    );

    const type = row.type?.split(';')[0];
    const what = type === undefined ? row.status : `${row.status} ${type}`;
    expect(error).toMatchObject({
      code: 'unexpected_answer',
      message: `unexpected answer (${what}) from ${scene.proxy.url}: is there a proxy or a sign-in page?`,
    });
    expect(scene.agent.logLines.join('')).toContain(error.message);
    expect(queues).toMatchObject({
      claims: { count: 1 },
      completions: { count: 1 },
      samples: { count: 60 },
      events: { count: 1 },
    });
    expect(before.calls_per_minute_allowed).toBe(allowed);
    expect(Math.abs(before.clock.ahead_of_service_ms)).toBeLessThan(24 * 60 * 60_000);
    await tellsNoBug();
    scene.proxy.restore();
    await expectDelivered(given);
  });
});

describe.each(rows.filter(({ status }) => status >= 400))(
  '$name, for the writes of a robot ($report)',
  (row) => {
    it('sets nothing aside, and delivers it in the end', async () => {
      await scene.agent.start();
      await scene.state('connected');
      let count = 0;
      scene.proxy.handle(({ method, response, pass }) => {
        if (method === 'GET' || count >= 6) return pass();
        count += 1;
        return answer(response, row);
      });

      await expectDelivered(await work());
    });
  },
);

describe('a gateway that refuses with an error of the service', () => {
  const notFound = { error: 'not_found', message: 'No such task.', status: 404 };

  it.each([
    { ...notFound, most: 1 },
    { ...notFound, most: 2 },
    { ...notFound, most: 3 },
    { ...notFound, most: 4 },
    { error: 'already_completed', message: 'Done.', status: 409, most: 2 },
    { error: 'id_conflict', message: 'Taken.', status: 409, most: 1 },
    { error: 'id_conflict', message: 'Taken.', status: 409, most: 2 },
  ])('sets nothing aside after $most times $error', async ({ most, status, ...refusal }) => {
    await scene.agent.start();
    await scene.state('connected');
    let count = 0;
    scene.proxy.handle(({ response, pass }) => {
      count += 1;
      if (count > most) return pass();
      response.writeHead(status, { 'content-type': json }).end(JSON.stringify(refusal));
      return undefined;
    });

    await expectDelivered(await work());
  });

  it('is retried with growing pauses if it does not know an accepted task', async () => {
    const usual = { firstMs: 1, maxMs: 60 * 60_000 };
    const agent = await createTestAgent({
      url: scene.proxy.url,
      apiKey: scene.robot.apiKey,
      pauses: { ...quickUploaderPauses, usual },
    });
    onTestFinished(() => agent.remove());
    const count = () => scene.proxy.seen.filter(({ path }) => path.endsWith('/complete')).length;
    scene.proxy.handle(async ({ path, response, forward }) => {
      const refusal = JSON.stringify({ error: 'not_found', message: 'No such task.' });
      const isRefused = /\/(complete|batch)$/.test(path);
      const answered = isRefused ? { status: 404, headers: {}, body: refusal } : await forward();
      // So that the limit of calls does not make the test long.
      const headers = { ...answered.headers, 'x-ratelimit-limit': '60000', 'content-type': json };
      response.writeHead(answered.status, headers).end(answered.body);
    });
    await agent.start();
    await agent.complete(await agent.claim(), newEvidence());
    await waitFor('its failures', () => count() > 4, LONG);
    for (let n = 0; n < 60; n++) {
      await agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    }
    await waitFor('them', () => scene.proxy.seenAt('/api/v1/events').length === 60, LONG);

    // Without growing pauses there are nearly as many as events.
    expect(count()).toBeLessThan(30);
    expect((await agent.status()).retried).toMatchObject({
      count: 1,
      records: [{ kind: 'completion', code: 'not_found' }],
    });
  });

  it('does not end a task that a program asks for', async () => {
    await scene.agent.start();
    await scene.state('connected');
    const id = await scene.service.claim(scene.robot);
    let count = 0;
    scene.proxy.handle(({ response, pass }) => {
      count += 1;
      if (count > 1) return pass();
      const body = JSON.stringify({ error: 'not_found', message: 'No such task.' });
      response.writeHead(404, { 'content-type': json }).end(body);
      return undefined;
    });

    const { status } = await scene.agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(200);
  });
});

describe('an answer about something else', () => {
  /** Hands on the service's first answer to a path, changed. Later calls wait for the end, so the agent's verdict stays. */
  function changing(isHit: (passing: Passing) => boolean, change: (body: never) => object) {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let count = 0;
    const handle = async (passing: Passing) => {
      if (!isHit(passing)) return passing.pass();
      count += 1;
      if (count > 1) return ended.then(passing.pass);
      const { status, headers, body } = await passing.forward();
      const { 'content-length': _, ...rest } = headers;
      const changed = JSON.stringify(change(JSON.parse(body) as never));
      passing.response.writeHead(status, rest).end(changed);
      return undefined;
    };
    return { handle, end };
  }
  const other = '01a1fa88-6262-702f-af77-0aaec0d1b17b';
  const at = (end: string) => (passing: Passing) =>
    passing.method === 'POST' && passing.path.endsWith(end);

  it.each([
    {
      name: 'fewer samples than were sent',
      report: 'of our own',
      queue: 'samples',
      isHit: at('/telemetry'),
      change: (body: { accepted: number }) => ({ ...body, accepted: body.accepted - 1 }),
    },
    {
      name: 'another event',
      report: 'of our own',
      queue: 'events',
      isHit: at('/events'),
      change: ({ event }: { event: object }) => ({ event: { ...event, id: other } }),
    },
    {
      name: 'another task',
      report: 'of our own',
      queue: 'claims',
      // Alone, or with its completion.
      isHit: ({ method, path }: Passing) => method === 'POST' && /\/tasks(\/batch)?$/.test(path),
      change: (body: object) =>
        JSON.parse(JSON.stringify(body).replace(/"id":"[\w-]{36}"/g, `"id":"${other}"`)),
    },
    {
      name: 'the receipt of another proof',
      report: 'of our own',
      queue: 'completions',
      // Reading the task too: a completion that is under way is polled.
      isHit: ({ path }: Passing) => path.startsWith('/api/v1/tasks/'),
      change: (body: object) =>
        JSON.parse(
          JSON.stringify(body).replace(
            /"proof_hash":"0x\w+"/g,
            `"proof_hash":"0x${'0'.repeat(64)}"`,
          ),
        ),
    },
  ])('delivers nothing: $name ($report)', async ({ queue, isHit, change }) => {
    await scene.agent.start();
    await scene.state('connected');
    const { handle, end } = changing(isHit, change);
    scene.proxy.handle(handle);
    const given = await work();
    await waitFor(
      'its failure',
      async () => (await scene.agent.status()).last_error?.code === 'unexpected_answer',
      LONG,
    );

    expect((await scene.agent.status()).queues[queue].count).toBeGreaterThan(0);
    scene.proxy.restore();
    end();
    await expectDelivered(given);
  });
});

describe('a refusal of the service', () => {
  it('is final only after the service has identified this robot', async () => {
    let names = false;
    scene.proxy.handle(({ method, path, response, pass }) => {
      if (path === '/api/v1/events') {
        const body = JSON.stringify({ error: 'id_conflict', message: 'Taken.' });
        response.writeHead(409, { 'content-type': json }).end(body);
        return undefined;
      }
      const isFirst = scene.proxy.seenAt('/api/v1/robot').length === 1;
      if (method !== 'GET' || isFirst || names) return pass();
      response.writeHead(200, { 'content-type': json }).end('{}');
      return undefined;
    });
    await scene.agent.start();
    await scene.state('connected');
    await scene.agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    await waitFor('two looks', () => scene.proxy.seenAt('/api/v1/robot').length > 2, LONG);
    const { refused, queues } = await scene.agent.status();
    names = true;
    await waitFor('its end', async () => (await scene.agent.status()).refused === 1, LONG);

    expect([refused, queues.events.count]).toEqual([0, 1]);
    expect((await scene.agent.status()).queues.events.count).toBe(0);
  });

  it('costs one check for many records that are refused together', async () => {
    const agent = await createTestAgent({
      url: scene.proxy.url,
      apiKey: scene.robot.apiKey,
      pauses: { ...quickUploaderPauses, usual: { firstMs: 1_000, maxMs: 1_000 } },
    });
    onTestFinished(() => agent.remove());
    scene.proxy.handle(({ path, response, pass }) => {
      if (path !== '/api/v1/events') return pass();
      const body = JSON.stringify({ error: 'id_conflict', message: 'Taken.' });
      response.writeHead(409, { 'content-type': json }).end(body);
      return undefined;
    });
    await agent.start();
    for (let n = 0; n < 8; n++) {
      await agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    }
    await waitFor('the end', async () => (await agent.status()).refused === 8, LONG);

    expect(scene.proxy.seenAt('/api/v1/events').length).toBeGreaterThanOrEqual(16);
    expect(scene.proxy.seenAt('/api/v1/robot').length).toBeLessThan(8);
  });
});

describe('records that a firewall refuses', () => {
  let agent: Awaited<ReturnType<typeof createTestAgent>>;

  beforeEach(async () => {
    agent = await createTestAgent({
      url: scene.proxy.url,
      apiKey: scene.robot.apiKey,
      // As on a robot, those that fail are tried less and less often.
      pauses: { ...quickUploaderPauses, unexpected: { firstMs: 100, maxMs: 60 * 60_000 } },
    });
    onTestFinished(() => agent.remove());
    scene.proxy.handle(async ({ body, response, forward }) => {
      if (body.includes('../')) {
        response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>');
        return;
      }
      const answered = await forward();
      // So that the limit of calls does not make the test long.
      const headers = { ...answered.headers, 'x-ratelimit-limit': '60000' };
      response.writeHead(answered.status, headers).end(answered.body);
    });
  });

  // pensyve 202: a firewall blocks each body that has a relative path in it.
  it('do not delay later records: 100 events, 20 batches and 20 claims', async () => {
    await agent.start();
    await waitFor('it', async () => (await agent.status()).connected, LONG);
    for (let n = 0; n < 20; n++) await agent.claim({ title: 'Copy ../map' });
    for (let n = 0; n < 100; n++) {
      const body = { event_type: 'info', message: '../log' };
      await agent.call('POST', '/api/v1/events', { body });
    }
    for (let n = 0; n < 20; n++) {
      await agent.record(Array.from({ length: 50 }, () => ({ state: '../idle' })));
    }
    await waitFor('their failures', async () => (await agent.status()).retried.count >= 300, LONG);
    await agent.record(numbers(50));
    await agent.call('POST', '/api/v1/events', { body: { event_type: 'info', message: 'Up' } });
    const proof = newEvidence();
    const task = await agent.claim();
    const { status } = await agent.complete(task, proof, { prefer: 'wait=60' });
    await waitFor('the samples', async () => (await scene.remoteSamples()).length === 50, LONG);
    await waitFor('the event', async () => (await scene.remoteEvents()).length === 1, LONG);

    expect(status).toBe(200);
    const shown = await agent.status();
    expect(shown).toMatchObject({
      connected: true,
      refused: 0,
      queues: { claims: { count: 20 }, events: { count: 100 } },
    });
    expect(shown.queues.samples.count).toBe(1000);
    expect(shown.retried.records[0]).toMatchObject({
      kind: 'claim',
      message: expect.stringContaining('unexpected answer (403 text/html) from'),
    });
  });

  it('are isolated in a batch: its other samples arrive', async () => {
    await agent.start();
    await agent.record(
      numbers(50).map((sample, n) => (n === 17 ? { ...sample, state: '../idle' } : sample)),
    );
    const { refused } = await waitFor(
      'the others',
      async () => {
        const status = await agent.status();
        return status.queues.samples.count === 1 ? status : null;
      },
      LONG,
    );

    expect([(await scene.remoteSamples()).length, refused]).toEqual([49, 0]);
  });
});

describe('samples that a gateway always refuses', () => {
  it('are split after three failures, and the halves wait, counted in the status', async () => {
    const unexpected = { firstMs: 1, maxMs: 60 * 60_000 };
    const agent = await createTestAgent({
      url: scene.proxy.url,
      apiKey: scene.robot.apiKey,
      pauses: { ...quickUploaderPauses, unexpected },
    });
    onTestFinished(() => agent.remove());
    const calls = () => scene.proxy.seenAt('/api/v1/telemetry').length;
    scene.proxy.handle(({ path, response, pass }) => {
      if (path !== '/api/v1/telemetry') return pass();
      // Any part of the next pause is longer than this test.
      if (calls() === 3) unexpected.firstMs = Number.MAX_SAFE_INTEGER;
      if (calls() === 3) unexpected.maxMs = Number.MAX_SAFE_INTEGER;
      response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>');
      return undefined;
    });
    await agent.start();
    await waitFor('it', async () => (await agent.status()).connected, LONG);
    await agent.record(numbers(50));
    const shown = await waitFor(
      'the halves',
      async () => {
        const { retried } = await agent.status();
        return retried.records.length === 2 ? retried : null;
      },
      LONG,
    );
    await agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    await waitFor('an event', async () => (await scene.remoteEvents()).length === 1, LONG);

    const half = { kind: 'sample', count: 25, code: 'unexpected_answer' };
    expect(shown).toMatchObject({ count: 50, records: [half, half] });
    expect(shown.records[0].id).not.toBe(shown.records[1].id);
    expect(calls()).toBe(3);
  });
});

describe.each(rows.slice(0, 8))('$name, as shown to a person ($report)', (row) => {
  it('is reported by doctor and by key set, which changes nothing', async () => {
    scene.proxy.handle(({ response }) => answer(response, row));
    const { keyFile, environment: env } = scene.agent;
    const doctor = await runInProcess('svc-agent', ['doctor'], { env });
    const input = `svc_${'ab'.repeat(20)}\n`;
    const keySet = await runInProcess('svc-agent', ['key', 'set'], { env, input });

    const words = `unexpected answer (${row.status} ${row.type}) from ${scene.proxy.url}`;
    expect([doctor.exitCode, doctor.stdout]).toEqual([1, expect.stringContaining(words)]);
    expect([keySet.exitCode, keySet.stderr]).toEqual([7, expect.stringContaining(words)]);
    expect(doctor.stdout + doctor.stderr + keySet.stderr).not.toMatch(/TypeError|Cannot read/);
    expect(await readFile(keyFile, 'utf8')).toBe(`${scene.robot.apiKey}\n`);
  });
});

/** An address at which nothing listens. */
async function nobodyThere(): Promise<string> {
  const proxy = await startServiceProxy(scene.service.url);
  await proxy.close();
  return proxy.url;
}

describe('the reason, in words', () => {
  const boot = Date.UTC(1970, 0, 1, 0, 3);
  const of = (code: string) => Object.assign(new TypeError('fetch failed'), { cause: { code } });

  it.each([
    {
      report: 'eve 2247, talos 13505',
      cause: of('CERT_NOT_YET_VALID'),
      words: "the certificate is not valid yet: this machine's clock says 1970-01-01T00:03:00Z",
    },
    {
      report: 'of our own',
      cause: of('CERT_HAS_EXPIRED'),
      words: "the certificate has expired: this machine's clock says 1970-01-01T00:03:00Z",
    },
    {
      report: 'of our own',
      cause: of('DEPTH_ZERO_SELF_SIGNED_CERT'),
      words: 'the certificate is of an authority that this machine does not trust',
    },
    {
      report: 'coova-chilli 91',
      cause: of('ERR_TLS_CERT_ALTNAME_INVALID'),
      words: 'the certificate is for another name: is there a proxy or a sign-in page?',
    },
    { report: 'of our own', cause: of('EAI_AGAIN'), words: 'its name cannot be resolved' },
    { report: 'of our own', cause: new TypeError('fetch failed'), words: 'the connection failed' },
    { report: 'of our own', cause: null, words: 'the connection failed' },
  ])('is $words ($report)', ({ cause, words }) => {
    expect(reasonOf(cause, boot)).toBe(words);
  });

  it('is in status and log if nothing listens', async () => {
    const agent = await createTestAgent({
      url: await nobodyThere(),
      apiKey: scene.robot.apiKey,
    });
    onTestFinished(() => agent.remove());
    await agent.start();
    const error = await waitFor('it', async () => (await agent.status()).last_error, LONG);

    const words = `No answer from ${agent.environment.SVC_AGENT_URL}: the connection was refused.`;
    expect(error).toMatchObject({ code: 'service_unreachable', message: words });
    expect(agent.logLines.join('')).toContain(words);
    expect(agent.logLines.join('')).not.toMatch(/TypeError|fetch failed/);
  });
});
