import { randomUUID } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RecordKind } from '../../src/agent/spool/records.ts';
import { openSpool } from '../../src/agent/spool/spool.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { createAgentClock } from '../support/agent-clock.ts';
import { newEvidence } from '../support/service.ts';
import { startServiceProxy } from '../support/service-proxy.ts';
import { numbers, setUpUploads } from '../support/uploads.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

const scene = setUpUploads();

describe('while the service answers', () => {
  it('anchors a proof and returns the receipt to the waiting caller', async () => {
    await scene.agent.start();
    const proof = newEvidence();
    const id = await scene.agent.claim({ title: 'Pick', expected_result: { parcels: 12 } });

    const { status, body } = await scene.agent.complete(id, proof, { prefer: 'wait=60' });

    expect([status, body.verification?.proof_hash]).toEqual([200, hashProof(proof)]);
    expect((await scene.remoteTask(id)).body.verification).toEqual(body.verification);
    const again = await scene.agent.complete(id, proof);
    expect([again.status, again.body.verification]).toEqual([409, body.verification]);
  });

  it('delivers samples and events with the times at which they happened', async () => {
    await scene.agent.start();
    const { body } = await scene.agent.record(numbers(50));
    await scene.agent.call('POST', '/api/v1/events', {
      body: { event_type: 'info', message: 'Up' },
    });
    await scene.delivered();

    const stored = await scene.remoteSamples();
    expect(new Map(stored.map(({ id, recorded_at }) => [id, recorded_at]))).toEqual(
      new Map(
        body.samples.map((one: { id: string; recorded_at: string }) => [one.id, one.recorded_at]),
      ),
    );
    const [event] = await scene.remoteEvents();
    expect(event).toMatchObject({ event_type: 'info', occurred_at: expect.any(String) });
  });

  it('asks the service about a task that it does not know', async () => {
    await scene.agent.start();
    await scene.state('connected');
    const id = await scene.service.claim(scene.robot);

    const known = await scene.agent.call('GET', `/api/v1/tasks/${id}`);
    const unknown = await scene.agent.call('GET', `/api/v1/tasks/${randomUUID()}`);

    expect(known.body.task).toMatchObject({ id, robot_id: scene.robot.id });
    expect([unknown.status, unknown.body.error]).toEqual([404, 'not_found']);
  });

  it('completes a task that was claimed elsewhere', async () => {
    await scene.agent.start();
    const id = await scene.service.claim(scene.robot);

    const { status } = await scene.agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(200);
  });
});

describe('while the service is down', () => {
  it('accepts all records, even across restarts, and delivers them once the service answers', async () => {
    scene.proxy.cut();
    await scene.agent.start();
    const proof = newEvidence();
    const id = await scene.agent.claim();
    await scene.agent.complete(id, proof);
    await scene.agent.record(numbers(50));
    await scene.agent.record(numbers(50, 50));
    await scene.agent.stop();
    await scene.agent.start();
    await scene.agent.record(numbers(20, 100));
    const { last_error: error } = await waitFor('a try', async () => {
      const status = await scene.agent.status();
      return status.last_error === null ? null : status;
    });
    expect(error.code).toBe('service_unreachable');
    expect(await scene.agent.status()).toMatchObject({
      connected: false,
      queues: { claims: { count: 1 }, completions: { count: 1 }, samples: { count: 120 } },
    });

    scene.proxy.restore();
    await scene.delivered();

    expect((await scene.remoteTask(id)).body.verification.proof_hash).toBe(hashProof(proof));
    const stored = (await scene.remoteSamples()).map(({ metrics }) => metrics.n);
    expect(stored.sort((a, b) => a - b)).toEqual(numbers(120).map(({ metrics }) => metrics.n));
  });

  it('repeats a request byte for byte if the answer was lost, and nothing is stored twice', async () => {
    const lost = new Set<string>();
    scene.proxy.handle(async ({ method, path, forward, pass, response }) => {
      if (method !== 'POST' || lost.has(path)) return pass();
      lost.add(path);
      await forward();
      response.destroy();
    });
    await scene.agent.start();
    // Too few for a batch.
    await scene.agent.claim();
    const id = await scene.service.claim(scene.robot);
    await scene.agent.complete(id, newEvidence());
    await scene.agent.record(numbers(5));
    await scene.agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    await scene.delivered();

    const paths = ['/api/v1/tasks', `/api/v1/tasks/${id}/complete`, '/api/v1/telemetry'];
    for (const path of paths) {
      const [first, second] = scene.proxy.seenAt(path);
      expect(first?.body).toEqual(expect.any(String));
      expect(second?.body).toBe(first?.body);
    }
    expect(await scene.remoteSamples()).toHaveLength(5);
    expect(await scene.remoteEvents()).toHaveLength(1);
    const ledger = await scene.service.call('GET', '/api/v1/credits/ledger', {
      session: scene.owner.session,
    });
    const kinds = (ledger.body.items as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'reserve')).toHaveLength(1);
  });

  it('never sends the key to the target of a redirect', async () => {
    const elsewhere = await startServiceProxy(scene.service.url);
    scene.proxy.fail(307, {}, { location: `${elsewhere.url}/api/v1/robot` });
    await scene.agent.start();
    await waitFor('two tries', () => scene.proxy.seen.length > 1, LONG);

    expect(elsewhere.seen).toEqual([]);
    await elsewhere.close();
  });
});

describe('a record that the service refuses', () => {
  it('sets its completion aside too if it is a claim', async () => {
    const other = await scene.service.makeRobot(scene.owner, 'arm-2');
    const taken = await scene.service.claim(other);
    await scene.agent.start();
    await scene.agent.call('POST', '/api/v1/tasks', { body: { id: taken, title: 'Mine' } });
    const refused = await scene.agent.complete(taken, newEvidence(), { prefer: 'wait=60' });
    const next = await scene.agent.complete(await scene.agent.claim(), newEvidence(), {
      prefer: 'wait=60',
    });

    expect([refused.status, refused.body.error]).toEqual([409, 'id_conflict']);
    expect(next.status).toBe(200);
    expect((await scene.agent.status()).refused).toBe(2);
  });

  it('may be a proof of a task that another proof completed, which an event reports', async () => {
    await scene.agent.start();
    const id = await scene.service.claim(scene.robot);
    await scene.service.complete(scene.robot, id);
    const proof = newEvidence();

    const { status, body } = await scene.agent.complete(id, proof, { prefer: 'wait=60' });

    expect([status, body.error]).toEqual([409, 'already_completed']);
    expect((await scene.agent.status()).refused).toBe(1);
    await scene.delivered();
    const payload = { task_id: id, proof_hash: hashProof(proof) };
    expect(await scene.remoteEvents()).toMatchObject([
      { event_type: 'evidence_set_aside', severity: 'error', payload },
    ]);
  });

  it('is not a proof while another proof of the task is being anchored: it waits for that one', async () => {
    await scene.agent.start();
    const id = await scene.service.claim(scene.robot);
    let asked = 0;
    scene.proxy.handle(({ path, pass, response }) => {
      if (!path.endsWith('/complete') || asked++ > 0) {
        pass();
        return;
      }
      response.writeHead(409, { 'content-type': 'application/json' });
      response.end('{"error":"completion_in_progress","message":"m","same_evidence":false}');
    });

    const { status } = await scene.agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect([status, asked]).toEqual([200, 2]);
  });

  it('is not settled by the receipt of another proof', async () => {
    scene.proxy.handle(async ({ path, forward, pass, response }) => {
      if (!path.endsWith('/complete')) return pass();
      const answer = await forward();
      const body = JSON.parse(answer.body);
      body.verification.proof_hash = `0x${'0'.repeat(64)}`;
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
    await scene.agent.start();
    const id = await scene.service.claim(scene.robot);

    const { status } = await scene.agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(409);
    expect(await scene.agent.status()).toMatchObject({
      refused: 1,
      queues: { completions: { count: 0 } },
    });
  });

  it('is claimed again if its claim is older than this spool', async () => {
    const id = randomUUID();
    const claim = { id, title: 'Pick', expected_result: { b: 1, a: 2 } };
    await scene.service.claim(scene.robot, { ...claim, occurred_at: '2026-01-01T00:00:00.000Z' });
    await scene.agent.start();
    await scene.agent.call('POST', '/api/v1/tasks', { body: claim });

    const { status } = await scene.agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(200);
  });
});

describe('a stored record that no request can be built from', () => {
  it.each(['{"recorded_at":null,"occurred_at":null}', '{"metrics":{"t":1e400}', 'null'])(
    'is set aside alone: %s',
    async (body) => {
      const clock = createAgentClock();
      const id = await scene.service.claim(scene.robot);
      const folder = path.join(scene.agent.folder, 'state');
      const spool = openSpool({ folder, maxBytes: 256 * 1024 * 1024, clock });
      const record = (kind: RecordKind, text: string, ofTask: string = randomUUID()) => ({
        kind,
        id: ofTask,
        ...clock.now(),
        body: text,
      });
      await spool.claim(record('claim', body));
      // All of these are evidence, unless they are no JSON.
      await spool.complete(record('completion', `${body}]`, id), hashProof({}));
      const samples = numbers(8).map((one) => record('sample', JSON.stringify(one)));
      spool.recordSamples(samples.with(5, record('sample', body)));
      spool.createEvent(record('event', body));
      spool.createEvent(record('event', '{"event_type":"info"}'));
      await spool.update(() => {});
      spool.close();

      await scene.agent.start();
      await waitFor('its end', async () => (await scene.agent.status()).refused === 4, LONG);
      await scene.delivered();

      const stored = (await scene.remoteSamples()).map(({ metrics }) => metrics.n);
      expect(stored.sort()).toEqual([0, 1, 2, 3, 4, 6, 7]);
      expect(await scene.remoteEvents()).toHaveLength(1);
      const log = scene.agent.logLines.join('');
      for (const kind of ['claim', 'completion', 'sample', 'event']) {
        expect(log).toContain(
          `The stored ${kind} is not of the documented form. Nothing was sent.`,
        );
      }
      expect(log).not.toMatch(/TypeError|unexpected error/);
    },
  );
});

describe('the key', () => {
  it('may be rotated while the agent runs, without loss', async () => {
    await scene.agent.start();
    await scene.state('connected');
    const { body } = await scene.service.call(
      'POST',
      `/api/v1/robots/${scene.robot.id}/rotate-key`,
      {
        session: scene.owner.session,
      },
    );
    scene.robot = { id: scene.robot.id, apiKey: body.api_key };
    const id = await scene.agent.claim();
    await scene.agent.record(numbers(3));
    await scene.state('key_refused');
    await writeFile(scene.agent.keyFile, scene.robot.apiKey);
    await scene.delivered();

    expect((await scene.remoteTask(id)).status).toBe(200);
    expect(await scene.remoteSamples()).toHaveLength(3);
  });

  it('is not used while others can read its file, and the local API still answers', async () => {
    await chmod(scene.agent.keyFile, 0o644);
    await scene.agent.start();
    const id = await scene.agent.claim();
    await scene.state('key_unusable');
    expect(scene.proxy.seen).toEqual([]);

    await chmod(scene.agent.keyFile, 0o600);
    await scene.delivered();
    expect((await scene.remoteTask(id)).status).toBe(200);
  });

  it('of another robot delivers no records of this one', async () => {
    await scene.agent.start();
    await scene.state('connected');
    await scene.agent.stop();
    const other = await scene.service.makeRobot(scene.owner, 'arm-2');
    await writeFile(scene.agent.keyFile, other.apiKey);
    await scene.agent.start();
    await scene.agent.claim();
    await scene.state('foreign_key');

    expect(scene.proxy.seenAt('/api/v1/tasks')).toEqual([]);
    expect((await scene.agent.status()).queues.claims.count).toBe(1);
  });

  it('appears in no log line and no answer', async () => {
    await scene.agent.start();
    await scene.agent.claim();
    await scene.delivered();
    scene.proxy.cut();
    await scene.agent.record(numbers(1));
    await scene.state('disconnected');

    const told = JSON.stringify([scene.agent.logLines, await scene.agent.status()]);
    expect(told).not.toContain(scene.robot.apiKey.slice(4));
  });
});
