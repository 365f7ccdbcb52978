import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashText } from '../../src/proof/statements/jws.ts';
import { readStatement } from '../../src/proof/statements/statement.ts';
import { limits } from '../../src/protocol/limits.ts';
import {
  newEvidence,
  newWallet,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import {
  grantOf,
  keyCalls,
  newSigner,
  revocationOf,
  type SigningRobot,
  startSigning,
} from '../support/signing-robot.ts';

/** The content of a new task. */
const newTask = () => ({ id: randomUUID(), title: 'Sort the parcels' });
const otherId = '01900000-0000-7000-8000-00000000000b';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
let keys: ReturnType<typeof keyCalls>;
beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
});
beforeEach(async () => {
  ({ owner, robot } = await service.signInWithRobot());
  keys = keyCalls(service, owner, robot);
});
afterAll(() => service.close());

const post = (path: string, body: unknown, { apiKey } = robot) =>
  service.call('POST', `/api/v1${path}`, { apiKey, body });
const claim = (body: object) => post('/tasks', body);
const complete = (id: string, body: object) => post(`/tasks/${id}/complete`, body);
const send = (...statements: string[]) => post('/statements', { statements });
const read = (path: string) => service.call('GET', `/api/v1${path}`, { session: owner.session });
const list = async (kid: string, query = '') =>
  (await read(`/robots/${robot.id}/statements?kid=${kid}${query}`)).body;
const numbersOf = async ({ kid }: SigningRobot) =>
  (await list(kid)).items.map(({ number }: { number: number }) => number);

describe('a key of a robot', () => {
  it('is proposed by the robot, and put into use by a text that the wallet signed', async () => {
    const signer = newSigner();

    const { identity } = (await keys.propose(signer.publicKey)).body;
    const text = grantOf(identity, signer);
    const reply = await keys.sign(text);

    expect(identity).toEqual({
      origin: service.url,
      wallet: owner.wallet,
      robot_id: robot.id,
      proposed_key: signer.publicKey,
      signs: false,
      next_number: 1,
      last: null,
      keys: [],
    });
    expect(reply.status).toBe(200);
    expect(reply.body.identity).toMatchObject({ proposed_key: null, signs: true, next_number: 1 });
    expect(reply.body.identity.keys).toEqual([
      {
        kid: expect.stringMatching(/^[\w-]{43}$/),
        public_key: signer.publicKey,
        grant: {
          text,
          signature: await owner.account.signMessage({ message: text }),
          signed_at: expect.any(String),
        },
        revocation: null,
      },
    ]);
    expect(await keys.read()).toEqual(reply.body.identity);
  });

  it('stays as it is when its text is sent again', async () => {
    const signer = newSigner();
    const { identity } = (await keys.propose(signer.publicKey)).body;
    const text = grantOf(identity, signer);
    const first = await keys.sign(text);

    const [again, proposed] = [await keys.sign(text), await keys.propose(signer.publicKey)];

    expect(again.body).toEqual(first.body);
    expect(proposed.body).toEqual(first.body);
  });

  it.each([
    ['of small order', { kty: 'OKP', crv: 'Ed25519', x: `AQ${'A'.repeat(41)}` }],
    [
      'that is no point of the curve',
      { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
    ],
  ])('%s is refused', async (_, key) => {
    const reply = await keys.propose(key);

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_key']);
  });

  it.each<[string, object]>([
    ['another origin', { origin: 'https://other.example' }],
    ['another wallet', { wallet: `0x${'1'.repeat(40)}` }],
    ['another robot', { robot_id: otherId }],
    ['a key that the robot does not propose', { thumbprint: 'A'.repeat(43) }],
    ['another algorithm', { algorithm: 'ES256' }],
    ['a key before it that the robot never had', { predecessor: 'A'.repeat(43) }],
    ['another first number', { first_number: 2 }],
  ])('is not put into use by a text with %s', async (_, change) => {
    const signer = newSigner();
    const { identity } = (await keys.propose(signer.publicKey)).body;

    const reply = await keys.sign(grantOf(identity, signer, change));

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_key_text']);
    expect(await keys.read()).toEqual(identity);
  });

  it('is not put into use by another text', async () => {
    const reply = await keys.sign('I sign everything.');

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_key_text']);
  });

  it('is not put into use by the signature of another wallet', async () => {
    const signer = newSigner();
    const { identity } = (await keys.propose(signer.publicKey)).body;

    const reply = await keys.sign(grantOf(identity, signer), newWallet());

    expect([reply.status, reply.body.error]).toEqual([401, 'invalid_signature']);
    expect((await keys.read()).signs).toBe(false);
  });

  it('is replaced by the next one, which goes on with the numbers', async () => {
    const first = await startSigning(service, owner, robot);
    const [one, two] = [newTask(), newTask()];
    await claim({ ...one, statement: first.claim(one) });
    const late = { ...two, statement: first.claim(two) };

    const second = await startSigning(service, owner, robot);
    const [refused, accepted] = [
      await claim(late),
      await claim({ ...two, statement: second.claim(two) }),
    ];

    expect(second.number).toBe(3);
    expect([refused.status, refused.body.error]).toEqual([403, 'statement_required']);
    expect(accepted.status).toBe(201);
    expect((await keys.read()).keys[1].grant.text).toContain(`Previous key: ${first.kid}`);
  });

  it('signs nothing after the last number of its revocation, but what came before stays valid', async () => {
    const signing = await startSigning(service, owner, robot);
    const tasks = [newTask(), newTask()];
    const [before, after] = tasks.map((task) => ({ ...task, statement: signing.claim(task) }));
    await claim(before ?? {});
    const text = revocationOf(await keys.read());

    const revoked = await keys.sign(text);
    const replies = [await claim(before ?? {}), await claim(after ?? {}), await claim(newTask())];

    expect(revoked.body.identity).toMatchObject({
      signs: true,
      keys: [{ kid: signing.kid, revocation: { text } }],
    });
    expect(replies.map(({ status }) => status)).toEqual([201, 403, 403]);
    expect((await keys.sign(text)).body).toEqual(revoked.body);
  });

  it.each<[string, object]>([
    ['a key that the robot never had', { kid: 'A'.repeat(43) }],
    ['another robot', { robot_id: otherId }],
  ])('stays in use after a revocation of %s', async (_, change) => {
    await startSigning(service, owner, robot);
    const before = await keys.read();

    const reply = await keys.sign(revocationOf(before, change));

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_key_text']);
    expect(await keys.read()).toEqual(before);
  });

  it('is revoked once', async () => {
    await startSigning(service, owner, robot);
    const identity = await keys.read();
    await keys.sign(revocationOf(identity));

    const last = { number: 9, hash: hashText('another') };
    const reply = await keys.sign(revocationOf(identity, { last }));

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_key_text']);
  });
});

describe('a claim of a robot that signs', () => {
  let signing: SigningRobot;
  beforeEach(async () => {
    signing = await startSigning(service, owner, robot);
  });

  it('is accepted with its statement, and once more when it is repeated', async () => {
    const task = {
      ...newTask(),
      description: 'Hall 3',
      expected_result: { parcels: 12 },
      occurred_at: '2026-11-28T08:59:59.000Z',
    };
    const signed = { ...task, statement: signing.claim(task) };

    const [first, again] = [await claim(signed), await claim(signed)];

    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(await list(signing.kid)).toEqual({
      items: [
        {
          number: 1,
          signed_hash: readStatement(signed.statement).signedHash,
          statement_hash: hashText(signed.statement),
          statement: signed.statement,
          received_at: expect.any(String),
        },
      ],
      next_cursor: null,
    });
  });

  it('is accepted with a statement over the time in UTC, in whatever form it is sent', async () => {
    const task = newTask();
    const statement = signing.claim({ ...task, occurred_at: '2026-11-28T08:00:00.000Z' });

    const reply = await claim({ ...task, occurred_at: '2026-11-28T09:00:00+01:00', statement });

    expect(reply.status).toBe(201);
  });

  it.each<[string, (task: ReturnType<typeof newTask>) => object]>([
    ['no statement', () => ({})],
    [
      'a statement about other content',
      (task) => ({ statement: signing.claim({ ...task, title: 'Weld' }) }),
    ],
    ['a statement about another task', () => ({ statement: signing.claim(newTask()) })],
    [
      'a statement about a task without an id',
      (task) => ({ id: undefined, statement: signing.claim(task) }),
    ],
    [
      'a statement of another robot',
      (task) => ({ statement: signing.claim(task, { robot_id: otherId }) }),
    ],
    ['the statement of a result', (task) => ({ statement: signing.result(task, {}) })],
    ['a statement of another form', () => ({ statement: 'YQ.YQ.YQ' })],
    [
      'the signature of another statement',
      (task) => {
        const [one, two] = [signing.claim(task), signing.claim(task)].map((text) =>
          text.split('.'),
        );
        return { statement: [...(one ?? []).slice(0, 2), two?.[2]].join('.') };
      },
    ],
  ])('is refused with %s, and nothing is stored', async (_, change) => {
    const task = newTask();

    const reply = await claim({ ...task, ...change(task) });

    expect([reply.status, reply.body.error]).toEqual([403, 'statement_required']);
    expect(await numbersOf(signing)).toEqual([]);
    expect((await read(`/tasks/${task.id}`)).status).toBe(404);
  });

  it('is refused with the key of another robot', async () => {
    const other = await service.makeRobot(owner, 'arm-2');
    const task = newTask();

    const reply = await post('/tasks', { ...task, statement: signing.claim(task) }, other);

    expect([reply.status, reply.body.error]).toEqual([403, 'statement_required']);
  });

  it('is refused with another statement of its number and epoch, which is kept', async () => {
    const [task, other] = [newTask(), newTask()];
    await claim({ ...task, statement: signing.claim(task) });
    const forked = { ...other, statement: signing.again(() => signing.claim(other)) };

    const replies = [await claim(forked), await claim(forked)];

    for (const reply of replies) {
      expect([reply.status, reply.body.error]).toEqual([409, 'statement_conflict']);
    }
    const { items } = await list(signing.kid);
    expect(items.map(({ number }: { number: number }) => number)).toEqual([1, 1]);
    expect(items[1].statement).toBe(forked.statement);
    expect((await read(`/tasks/${other.id}`)).status).toBe(404);
  });

  it('is accepted with another statement of its number in another epoch', async () => {
    const [task, other] = [newTask(), newTask()];
    await claim({ ...task, statement: signing.claim(task) });
    const statement = signing.again(() => signing.claim(other), { epoch: randomUUID() });

    expect((await claim({ ...other, statement })).status).toBe(201);
    expect(await numbersOf(signing)).toEqual([1, 1]);
  });

  it('leaves no gap when it is too large', async () => {
    const expected_result = { text: 'x'.repeat(limits.expectedResultBytes) };
    const task = { ...newTask(), expected_result };

    const reply = await claim({ ...task, statement: signing.claim(task) });

    expect(reply.status).toBe(413);
    expect(await numbersOf(signing)).toEqual([1]);
  });

  it('leaves no gap when its id is taken', async () => {
    const task = newTask();
    await claim({ ...task, statement: signing.claim(task) });
    const other = { ...task, title: 'Weld' };

    const reply = await claim({ ...other, statement: signing.claim(other) });

    expect([reply.status, reply.body.error]).toEqual([409, 'id_conflict']);
    expect(await numbersOf(signing)).toEqual([1, 2]);
  });
});

describe('a result of a robot that signs', () => {
  let signing: SigningRobot;
  let task: ReturnType<typeof newTask>;
  beforeEach(async () => {
    signing = await startSigning(service, owner, robot);
    task = newTask();
    await claim({ ...task, statement: signing.claim(task) });
  });

  it.each(['Ed25519', 'ES256'] as const)(
    'is anchored with its statement by %s',
    async (algorithm) => {
      signing = await startSigning(service, owner, robot, newSigner(algorithm));
      const proof = newEvidence();
      const statement = signing.result(task, proof, { outcome: 'failed' });

      const reply = await complete(task.id, { proof, statement });

      const { verification } = reply.body;
      expect(reply.status).toBe(200);
      expect(verification).toMatchObject({
        format: 'svc-receipt/2',
        statement_hash: hashText(statement),
      });
      const shown = (await read(`/tasks/${task.id}`)).body;
      expect(shown).toMatchObject({ task: { outcome: 'failed' }, verification });
      expect((await read('/tasks')).body.items).toMatchObject([{ outcome: 'failed' }]);
      const check = await service.call('GET', `/api/v1/verify/${verification.proof_hash}`);
      expect(check.body).toMatchObject({ verified: true });
      expect(JSON.stringify(check.body)).not.toContain('outcome');
    },
  );

  it('gets its receipt when it is repeated', async () => {
    const proof = newEvidence();
    const body = { proof, statement: signing.result(task, proof) };
    const { verification } = (await complete(task.id, body)).body;

    const again = await complete(task.id, body);

    expect([again.status, again.body.error]).toEqual([409, 'already_completed']);
    expect(again.body.verification).toEqual(verification);
    expect(await numbersOf(signing)).toEqual([1, 2]);
  });

  const proof = newEvidence();
  it.each<[string, () => object]>([
    ['no statement', () => ({})],
    [
      'a statement about other evidence',
      () => ({ statement: signing.result(task, newEvidence()) }),
    ],
    [
      'a statement about other content',
      () => ({ statement: signing.result({ ...task, title: 'Weld' }, proof) }),
    ],
    ['a statement about another task', () => ({ statement: signing.result(newTask(), proof) })],
    ['the statement of a claim', () => ({ statement: signing.claim(task) })],
    ['another outcome', () => ({ outcome: 'failed', statement: signing.result(task, proof) })],
  ])('is refused with %s, and nothing is stored', async (_, change) => {
    const reply = await complete(task.id, { proof, ...change() });

    expect([reply.status, reply.body.error]).toEqual([403, 'statement_required']);
    expect(await numbersOf(signing)).toEqual([1]);
    expect((await read(`/tasks/${task.id}`)).body.anchor).toBeNull();
  });

  it('leaves no gap when other evidence was accepted before', async () => {
    const [first, second] = [newEvidence(), newEvidence()];
    await complete(task.id, { proof: first, statement: signing.result(task, first) });

    const statement = signing.result(task, second);
    const reply = await complete(task.id, { proof: second, statement });

    expect(reply.status).toBe(409);
    expect(await numbersOf(signing)).toEqual([1, 2, 3]);
  });

  it('leaves no gap when its evidence is too large', async () => {
    const large = { text: 'x'.repeat(limits.proofBytes) };

    const reply = await complete(task.id, { proof: large, statement: signing.result(task, large) });

    expect(reply.status).toBe(413);
    expect(await numbersOf(signing)).toEqual([1, 2]);
  });

  it('leaves no gap when the account cannot pay', async () => {
    const { anchorQuota, gasCreditWei } = (await service.store.getBalance(owner.wallet)) ?? {
      anchorQuota: 0,
      gasCreditWei: 0n,
    };
    const { wallet } = owner;
    const taken = { id: randomUUID(), wallet, anchors: anchorQuota, gasWei: gasCreditWei };
    await service.store.revokeCredits({ ...taken, note: 'test', now: Date.now() });
    const evidence = newEvidence();

    const statement = signing.result(task, evidence);
    const reply = await complete(task.id, { proof: evidence, statement });

    expect(reply.status).toBe(402);
    expect(await numbersOf(signing)).toEqual([1, 2]);
  });
});

describe('a robot without a key', () => {
  it.each([undefined, 'succeeded', 'failed', 'aborted'])(
    'may state an outcome: %s',
    async (outcome) => {
      const id = await service.claim(robot);

      const reply = await complete(id, { proof: newEvidence(), ...(outcome && { outcome }) });

      expect(reply.body.verification.format).toBe('svc-receipt/1');
      expect((await read(`/tasks/${id}`)).body.task.outcome).toBe(outcome ?? null);
    },
  );

  it('signs nothing', async () => {
    const other = await service.makeRobot(owner, 'arm-2');
    const signing = await startSigning(service, owner, other);
    const task = newTask();

    const reply = await send(signing.claim(task, { robot_id: robot.id }));

    expect(reply.body.statements).toEqual([
      { signed_hash: null, outcome: 'invalid', message: expect.any(String) },
    ]);
  });
});

describe('statements that are sent without their tasks', () => {
  let signing: SigningRobot;
  beforeEach(async () => {
    signing = await startSigning(service, owner, robot);
  });

  it('are stored in any order, each with an outcome of its own', async () => {
    const texts = [newTask(), newTask(), newTask()].map((task) => signing.claim(task));
    const fork = signing.again(() => signing.claim(newTask()));

    const first = await send(texts[2] ?? '', texts[0] ?? '', 'YQ.YQ.YQ');
    const second = await send(...texts, fork);

    const outcomes = (reply: typeof first) =>
      reply.body.statements.map(({ outcome }: { outcome: string }) => outcome);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(outcomes(first)).toEqual(['stored', 'stored', 'invalid']);
    expect(outcomes(second)).toEqual(['repeated', 'stored', 'repeated', 'conflict']);
    expect(second.body.statements[1].signed_hash).toBe(readStatement(texts[1] ?? '').signedHash);
    expect(await numbersOf(signing)).toEqual([1, 2, 3, 3]);
  });

  it('are kept up to a limit for one number', async () => {
    const most = limits.statementsPerNumber;
    await send(signing.claim(newTask()));
    const forks = Array.from({ length: most }, () => signing.again(() => signing.claim(newTask())));

    const reply = await send(...forks);

    expect(reply.body.statements.at(-2)).toMatchObject({ outcome: 'conflict' });
    expect(reply.body.statements.at(-1)).toMatchObject({
      outcome: 'invalid',
      message: expect.stringContaining(`${most} statements`),
    });
    expect(await numbersOf(signing)).toHaveLength(most);
  });

  it('are listed in pages', async () => {
    await send(...[1, 2, 3, 4, 5].map(() => signing.claim(newTask())));

    const first = await list(signing.kid, '&limit=3');
    const second = await list(signing.kid, `&limit=3&cursor=${first.next_cursor}`);

    const numbers = [first, second].map(({ items }) =>
      items.map((one: { number: number }) => one.number),
    );
    expect(numbers).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(second.next_cursor).toBeNull();
  });
});

it('exports the keys of robots with their statements', async () => {
  const signing = await startSigning(service, owner, robot);
  await send(signing.claim(newTask()));
  const body = await service.signAgain(owner, 'export_account');

  const exported = await service.call('POST', '/api/v1/me/export', {
    session: owner.session,
    body,
  });

  const [statement] = (await list(signing.kid)).items;
  expect(exported.body).toContainEqual({ kind: 'identity', record: await keys.read() });
  expect(exported.body).toContainEqual({
    kind: 'statement',
    record: { kid: signing.kid, ...statement },
  });
});

describe('an account without storage', () => {
  let full: TestService;
  beforeAll(async () => {
    // An eighth is for this account.
    full = await startTestService({ storage: { poolBytes: 8 * 2_500, accountBytes: 0 } });
  });
  afterAll(() => full.close());

  it('claims nothing, but revokes a key', async () => {
    const of = await full.signInWithRobot();
    const signing = await startSigning(full, of.owner, of.robot);
    const large = { ...newTask(), description: 'x'.repeat(1_500) };
    const signed = { ...large, statement: signing.claim(large) };
    const { sign, read } = keyCalls(full, of.owner, of.robot);

    const claimed = await full.call('POST', '/api/v1/tasks', {
      apiKey: of.robot.apiKey,
      body: signed,
    });
    const revoked = await sign(revocationOf(await read()));

    expect(claimed.body.error).toBe('storage_quota');
    expect(revoked.status).toBe(200);
    expect(revoked.body.identity.keys).toMatchObject([{ revocation: expect.anything() }]);
  });
});
