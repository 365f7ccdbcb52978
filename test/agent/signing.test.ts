import { randomUUID } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contentHash, hashProof, Sequence } from '../../src/proof/index.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type SigningService, startSigningService } from '../support/signing-service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

let service: SigningService;
let agent: TestAgent;

beforeEach(async () => {
  service = await startSigningService();
  agent = await createTestAgent({ url: service.url, apiKey: `svc_${'0'.repeat(40)}` });
});
afterEach(async () => {
  await agent.remove();
  await service.close();
});

const identity = (args: string[]) =>
  runInProcess('svc-agent', ['identity', ...args], { env: agent.environment });
const signing = async () => (await agent.status()).signing;
const signingIs = (wanted: string) =>
  waitFor(`signing ${wanted}`, async () => (await signing()).state === wanted, LONG);
const delivered = () =>
  waitFor(
    'the delivery',
    async () => {
      const { queues } = await agent.status();
      return queues.claims.count + queues.completions.count === 0;
    },
    LONG,
  );
const numbersAndTypes = () =>
  service.statements().map(({ read: { statement } }) => [statement.number, statement.type]);

/** A running agent whose key the owner has signed. */
async function startSigning(): Promise<void> {
  await identity(['create']);
  service.grant();
  await agent.start();
  await signingIs('active');
}

/** The texts to sign that a stopped agent has. */
async function exported(): Promise<string[]> {
  const { stdout } = await runInProcess('svc-agent', ['spool', 'export'], {
    env: agent.environment,
  });
  const records = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return records.filter(({ kind }) => kind === 'statement').map(({ body }) => body.signed);
}

function isSound(): boolean {
  const sequence = new Sequence(1);
  for (const { read } of service.statements()) {
    const { number, prev, epoch } = read.statement;
    sequence.add({ number, signedHash: read.signedHash, statement: { prev, epoch } });
  }
  return sequence.report().isSound;
}

describe('the key', () => {
  it('is private to its owner, and is never overwritten by accident', async () => {
    const { exitCode, stdout } = await identity(['create']);

    const file = path.join(agent.folder, 'state', 'signing-key.json');
    expect([exitCode, (await stat(file)).mode & 0o777]).toEqual([0, 0o600]);
    expect(service.proposed).toMatchObject({ kty: 'OKP', crv: 'Ed25519' });
    const again = await identity(['create']);
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('--replace')]);
    expect((await identity(['create', '--replace'])).stdout).not.toBe(stdout);
  });

  it('is shown with what the owner has to do, until the owner has signed it', async () => {
    await identity(['create']);
    const before = await identity(['show']);
    service.grant();

    const after = JSON.parse((await identity(['show', '--json'])).stdout);

    expect(before.stdout).toContain('svc robots sign-key arm');
    expect(after).toMatchObject({ signed: true, next_number: 1, to_do: null });
  });

  it('is not used if the text of the owner is about another service', async () => {
    await identity(['create']);
    service.grant({ origin: 'https://other.example.org' });
    await agent.start();

    await waitFor(
      'the refusal',
      async () => agent.logLines.join('').includes('is not about'),
      LONG,
    );
    expect((await signing()).state).toBe('waiting_for_owner');
  });

  it('changes nothing about requests until the owner has signed it', async () => {
    await agent.start();
    const id = await agent.claim();
    await delivered();
    await agent.complete(id, { picked: 12 });
    await delivered();

    const [claim, completion] = service.bodies.filter(({ path: at }) =>
      at.startsWith('/api/v1/tasks'),
    );
    expect(Object.keys(claim?.body ?? {}).sort()).toEqual(['id', 'occurred_at', 'title']);
    expect(completion?.body).toEqual({ proof: { picked: 12 } });
    expect(await signing()).toMatchObject({ state: 'off', unsigned: 0 });
  });
});

describe('a robot with a key in use', () => {
  it('signs each claim and result, in order', async () => {
    await startSigning();
    const proof = { picked: 12 };
    const content = { title: 'Pick', expected_result: { b: 1, a: 2 } };
    const id = await agent.claim(content);
    await agent.call('POST', `/api/v1/tasks/${id}/complete`, {
      body: { proof, outcome: 'failed' },
    });
    await agent.complete(await agent.claim(), proof);
    await delivered();

    expect(isSound()).toBe(true);
    const [claim, result, ...rest] = service.statements().map(({ read }) => read.statement);
    const sent = service.bodies.find(({ body }) => body.id === id);
    const content_hash = contentHash({ ...content, occurred_at: String(sent?.body.occurred_at) });
    expect(claim).toMatchObject({
      type: 'claim',
      number: 1,
      prev: null,
      task_id: id,
      content_hash,
    });
    const stated = { proof_hash: hashProof(proof), outcome: 'failed', content_hash };
    expect(result).toMatchObject({ type: 'result', number: 2, task_id: id, ...stated });
    expect(rest).toMatchObject([{ number: 3 }, { number: 4, outcome: 'succeeded' }]);
    expect(await signing()).toMatchObject({ last_number: 4, unsigned: 0, last_error: null });
  });

  it('signs the result of a task that another machine claimed', async () => {
    await agent.start();
    const id = await agent.claim();
    await delivered();
    await agent.stop();
    await rm(path.join(agent.folder, 'state'), { recursive: true });
    await startSigning();

    await agent.complete(id, { picked: 12 });
    await delivered();

    expect(service.statements().map(({ read }) => read.statement)).toMatchObject([
      { type: 'result', number: 1, task_id: id },
    ]);
  });

  it('numbers what it accepted before, in that order', async () => {
    await identity(['create']);
    service.grant();
    service.isDown = true;
    await agent.start();
    const ids = [await agent.claim(), await agent.claim()];
    for (const id of ids) await agent.complete(id, { id });
    expect(await signing()).toMatchObject({ state: 'waiting_for_owner', unsigned: 0 });
    service.isDown = false;
    await delivered();

    expect(isSound()).toBe(true);
    expect(numbersAndTypes()).toEqual([
      [1, 'claim'],
      [2, 'claim'],
      [3, 'result'],
      [4, 'result'],
    ]);
  });

  it('reuses the number of a repeated claim', async () => {
    await startSigning();
    service.isDown = true;
    const id = randomUUID();
    const body = { id, title: 'Pick' };
    await agent.call('POST', '/api/v1/tasks', { body });
    await agent.call('POST', '/api/v1/tasks', { body });
    await agent.stop();
    await agent.start();
    await agent.call('POST', '/api/v1/tasks', { body });

    expect((await signing()).last_number).toBe(1);
  });

  it('sends the same statements again when the service has lost the task', async () => {
    await startSigning();
    service.isAnchoring = false;
    const id = await agent.claim();
    await agent.complete(id, { picked: 12 });
    await waitFor('both', () => service.statements().length === 2, LONG);
    const before = service.statements().map(({ text }) => text);
    service.isAnchoring = true;
    service.forget();
    await delivered();

    expect(service.statements().map(({ text }) => text)).toEqual(before);
  });

  it('continues after the last number that the service has when it lost its spool', async () => {
    await startSigning();
    await agent.complete(await agent.claim(), { picked: 12 });
    await delivered();
    await agent.stop();
    const state = path.join(agent.folder, 'state');
    for (const file of ['spool.db', 'spool.db-wal', 'spool.db-shm']) {
      await rm(path.join(state, file), { force: true });
    }
    await agent.start();
    await signingIs('active');
    await agent.claim();
    await delivered();

    expect(isSound()).toBe(true);
    expect(numbersAndTypes()).toHaveLength(3);
  });

  const highest = Number.MAX_SAFE_INTEGER;
  it.each([
    ['without the statement', { number: highest, statement: null }],
    ['with the statement of another number', { number: highest }],
  ])('skips no number because the service states a higher one %s', async (_, changes) => {
    await startSigning();
    await agent.claim();
    await delivered();
    service.lastChanges = changes;
    await agent.stop();
    await agent.start();
    await signingIs('active');
    await agent.claim();
    await delivered();

    expect(numbersAndTypes().map(([number]) => number)).toEqual([1, 2]);
  });

  it('signs nothing with a new spool after a number that no robot reaches', async () => {
    await startSigning();
    await agent.claim();
    await delivered();
    service.lastChanges = { number: highest, statement: null };
    await agent.stop();
    await rm(path.join(agent.folder, 'state', 'spool.db'));
    await agent.start();
    const error = async () => (await signing()).last_error?.message;
    await waitFor('the refusal', async () => (await error()) !== undefined, LONG);

    expect(await error()).toContain(`did not sign statement ${highest}`);
    expect((await signing()).state).toBe('waiting_for_owner');
  });

  it('states the time that the service holds of a task that an earlier spool claimed', async () => {
    await startSigning();
    const claim = { id: randomUUID(), title: 'Pick' };
    await agent.claim(claim);
    await delivered();
    await agent.stop();
    await rm(path.join(agent.folder, 'state', 'spool.db'));
    await agent.start();
    await signingIs('active');
    await agent.claim(claim);
    await agent.complete(claim.id, { picked: 12 });
    await delivered();

    // The service accepts no other content. What was numbered before the agent knew it follows alone.
    await waitFor('all', isSound, LONG);
    expect(numbersAndTypes().at(-1)?.[1]).toBe('result');
  });

  it('recovers the statements of a damaged spool, and numbers none of them twice', async () => {
    await startSigning();
    service.isDown = true;
    for (const id of [await agent.claim(), await agent.claim()]) await agent.complete(id, { id });
    await agent.stop();
    const before = await exported();
    const file = await open(path.join(agent.folder, 'state', 'spool.db'), 'r+');
    await file.write(Buffer.alloc(100), 0, 100, 0);
    await file.close();
    service.isDown = false;
    await agent.start();
    await delivered();

    expect(before).toHaveLength(4);
    expect(service.statements().map(({ read }) => read.signed)).toEqual(before);
  });

  it('goes on with its key when the service answers with no key, and then with an older text', async () => {
    await startSigning();
    service.grant();
    await agent.stop();
    await agent.start();
    await agent.claim();
    await delivered();
    for (const shown of [0, 1]) {
      service.shownKeys = shown;
      await agent.stop();
      service.bodies.length = 0;
      await agent.start();
      const isAsked = () => service.bodies.some(({ path: at }) => at === '/api/v1/identity');
      await waitFor('the answer', isAsked, LONG);
    }
    await agent.claim();
    await delivered();

    const kids = service.statements().map(({ read }) => read.header.kid);
    expect(kids).toHaveLength(2);
    expect(new Set(kids).size).toBe(1);
  });

  it('uses no key text of another wallet', async () => {
    await startSigning();
    await identity(['create', '--replace']);
    await signingIs('waiting_for_owner');
    service.wallet = `0x${'ab'.repeat(20)}`;
    service.grant();
    const refused = () => agent.logLines.some((line) => line.includes('signing key not in use'));
    await waitFor('the refusal', refused, LONG);

    expect((await agent.status()).signing.state).toBe('waiting_for_owner');
  });

  it('shows that the owner revoked the key, and what to do', async () => {
    await startSigning();
    service.revoke();
    await agent.stop();
    await agent.start();
    await signingIs('revoked');
    const status = await runInProcess('svc-agent', ['status'], { env: agent.environment });
    const doctor = await runInProcess('svc-agent', ['doctor'], { env: agent.environment });
    const shown = await identity(['show']);

    const toDo = 'identity create --replace';
    expect(status.stdout).toMatch(new RegExp(`^signing +revoked.*${toDo}`, 'm'));
    expect(doctor.stdout).toMatch(new RegExp(`^WRONG +signing.*revoked.*${toDo}`, 'm'));
    expect(shown.stdout).toMatch(new RegExp(`revoked it\\n.*\\nto do.*${toDo}`));
    expect(shown.stdout).not.toContain('sign-key');
  });

  it('shows no key as revoked by the text of another wallet', async () => {
    await startSigning();
    service.revoke(`0x${'ab'.repeat(20)}`);
    await agent.stop();
    await agent.start();
    await signingIs('waiting_for_owner');

    const shown = JSON.parse((await identity(['show', '--json'])).stdout);
    expect(shown).toMatchObject({ signed: false, revoked: false });
  });

  it('keeps a completion whose receipt does not have its statement, and reports it', async () => {
    await startSigning();
    service.isStripping = true;
    const id = await agent.claim();
    await agent.complete(id, { picked: 12 });
    const kept = await waitFor(
      'the report',
      async () => (await agent.status()).retried.records[0],
      LONG,
    );
    expect(kept).toMatchObject({ kind: 'completion', id, code: 'receipt_without_statement' });
    expect((await agent.status()).queues.completions.count).toBe(1);

    service.forget();
    service.isStripping = false;
    await delivered();
    expect((await agent.status()).retried.count).toBe(0);
  });

  it('accepts an unsigned receipt of a completion that was sent before the key was in use', async () => {
    await identity(['create']);
    service.isLosing = true;
    await agent.start();
    const id = await agent.claim();
    await agent.complete(id, { picked: 12 });
    const isSent = () => service.bodies.some(({ path: at }) => at.endsWith('/complete'));
    await waitFor('the completion', isSent, LONG);
    service.grant();
    await signingIs('active');
    service.isLosing = false;
    await delivered();

    expect((await agent.call('GET', '/api/v1/receipts')).body.items).toMatchObject([
      { task_id: id, format: 'svc-receipt/1' },
    ]);
  });

  it('numbers a new key from the next number on, and delivers nothing until it is signed', async () => {
    await startSigning();
    await agent.claim();
    await delivered();
    await identity(['create', '--replace']);
    await signingIs('waiting_for_owner');
    await agent.claim();
    expect((await agent.status()).queues.claims.count).toBe(1);
    service.grant();
    await delivered();

    const [first, second] = service.statements().map(({ read }) => read);
    expect(second?.header.kid).not.toBe(first?.header.kid);
    expect(second?.statement).toMatchObject({ number: 2, prev: null });
  });
});
