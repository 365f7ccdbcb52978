import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { promiseKeyOf } from '../../../src/chain/keys/promise-key.ts';
import type { Hex } from '../../../src/proof/bytes.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import type { JsonObject } from '../../../src/proof/json-value.ts';
import { hashText, joinSignature } from '../../../src/proof/statements/jws.ts';
import { grantText, kidOf, readGrantText } from '../../../src/proof/statements/key-text.ts';
import { thumbprintOf } from '../../../src/proof/statements/public-key.ts';
import { readStatement } from '../../../src/proof/statements/statement.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import {
  type Lie,
  type LyingService,
  type ShownKey,
  type ShownStatement,
  startLyingService,
} from '../../support/lying-service.ts';
import { robotClient } from '../../support/server-process.ts';
import {
  newWallet,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { newSigner, SigningRobot, startSigning } from '../../support/signing-robot.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

/** No service: an address where nothing listens. */
const nowhere = { env: { SVC_URL: 'http://127.0.0.1:9' } };
const thief = newWallet();
const thiefsKey = newSigner();

let service: TestService;
let liar: LyingService;
let user: SvcUser;
let owner: Owner;
let arm: Worker;
let other: Worker;

interface Worker {
  robot: TestRobot;
  signing: SigningRobot;
  tasks: { id: string; title: string }[];
}

beforeAll(async () => {
  liar = await startLyingService();
  const settings = { baseUrl: liar.url, anchorTimeoutMs: 0 };
  service = await startTestService({ chain: 'mining', settings });
  liar.redirect(service.url);
  user = await createSvcUser(liar.url);
  await user.signIn();
  owner = await service.signIn(user.account);
  arm = await startWorker('arm');
  await work(arm, 4);
  other = await startWorker('other');
  await work(other, 2);
});
afterEach(() => liar.lie({}));
afterAll(async () => {
  await user?.remove();
  await service?.close();
  await liar?.close();
});

async function startWorker(name: string): Promise<Worker> {
  const robot = await service.makeRobot(owner, name);
  return { robot, signing: await startSigning(service, owner, robot), tasks: [] };
}

/** Claims tasks and hands in their results, the last of each three failed. */
async function work({ robot, signing, tasks }: Worker, count: number): Promise<void> {
  const client = robotClient(liar.url, robot.apiKey);
  for (let n = 1; n <= count; n += 1) {
    const task = { id: randomUUID(), title: `Parcel ${n}` };
    const [proof, outcome] = [{ parcel: n }, n % 3 === 0 ? 'failed' : 'succeeded'] as const;
    await client.call('createTask', { body: { ...task, statement: signing.claim(task) } });
    const body = { proof, outcome, statement: signing.result(task, proof, { outcome }) };
    const { status } = await client.call('completeTask', { params: { id: task.id }, body });
    expect(status).toBe(202);
    tasks.push(task);
  }
}

/** What the owner finds at the service, and an auditor in the archive without it. */
async function verified(name: string) {
  const online = await user.svc(['robots', 'verify', name]);
  const archive = user.file(`${name}.jsonl`);
  await writeFile(archive, (await user.svc(['robots', 'export', name])).stdout);
  const offline = await user.svc(['verify', archive, '--owner', user.wallet], nowhere);
  return { exitCodes: [online.exitCode, offline.exitCode], text: offline.stdout + offline.stderr };
}

/** The statement with other members in its payload, under its old signature. */
function altered(text: string | null, from: RegExp, to: string): string {
  const [header, payload = '', signature] = String(text).split('.');
  const changed = Buffer.from(payload, 'base64url').toString().replace(from, to);
  return [header, Buffer.from(changed).toString('base64url'), signature].join('.');
}

/** The line with another statement. */
function shownAs(line: ShownStatement | undefined, statement: string): ShownStatement {
  const { signedHash: signed_hash, statementHash: statement_hash } = readStatement(statement);
  return { ...(line as ShownStatement), signed_hash, statement_hash, statement };
}

const change = (n: number, to: (line: ShownStatement) => ShownStatement): Lie => ({
  statements: (all) => all.with(n, to(all[n] as ShownStatement)),
});

/** A key text of the thief, with a key of the thief. */
async function forgedKeys(keys: ShownKey[], wallet = thief.address): Promise<ShownKey[]> {
  const { grant } = keys[0] as ShownKey;
  const thumbprint = thumbprintOf(thiefsKey.publicKey);
  const text = grantText({
    ...readGrantText(grant.text),
    wallet: wallet.toLowerCase() as Hex,
    thumbprint,
  });
  const signature = await thief.signMessage({ message: text });
  return [
    {
      ...(keys[0] as ShownKey),
      public_key: thiefsKey.publicKey,
      grant: { ...grant, text, signature },
    },
  ];
}

/** All statements again, signed by the thief. */
function forgedStatements(all: ShownStatement[], kid: string): ShownStatement[] {
  let prev: string | null = null;
  return all.map((line) => {
    const [, payload = ''] = String(line.statement).split('.');
    const stated = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), prev };
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const sorted = Object.fromEntries(Object.entries(stated).sort(([a], [b]) => (a < b ? -1 : 1)));
    const signed = `${encoded({ alg: 'Ed25519', kid, typ: 'svc-statement/1' })}.${encoded(sorted)}`;
    prev = hashText(signed);
    return shownAs(line, joinSignature(signed, thiefsKey.sign(signed)));
  });
}

describe('a service that lies about the statements of a robot', () => {
  it('is not convicted while it lies about nothing', async () => {
    const { exitCodes, text } = await verified('arm');

    expect([exitCodes, text]).toEqual([[0, 0], expect.stringContaining('1 to 8 of key')]);
  });

  it.each<[string, exitCode: number, says: string, Lie]>([
    [
      'a task that it hides',
      11,
      'missing: 5 to 6',
      { statements: (all) => all.filter(({ number }) => number !== 5 && number !== 6) },
    ],
    [
      'the order of the numbers',
      3,
      'invalid: 2, 3',
      {
        statements: (all) =>
          all
            .map((line) => ({ ...line, number: [1, 3, 2][line.number - 1] ?? line.number }))
            .toSorted((a, b) => a.number - b.number),
      },
    ],
    [
      'the order of the lines',
      2,
      'order of their numbers',
      { statements: (all) => all.toReversed() },
    ],
    [
      'the time of a statement',
      3,
      'invalid: 4',
      change(3, (line) => shownAs(line, altered(line.statement, /"time":"2026/, '"time":"2025'))),
    ],
    [
      'the outcome of a task',
      3,
      'invalid: 6',
      change(5, (line) => shownAs(line, altered(line.statement, /failed/, 'succeeded'))),
    ],
    [
      'which robot signed: the statement of another robot',
      3,
      'invalid: 4',
      { statements: async (all) => all.with(3, { ...(await statementOf(other, 4)), number: 4 }) },
    ],
    [
      'what was signed: an earlier statement once more',
      3,
      'invalid: 8',
      { statements: (all) => all.with(7, { ...(all[5] as ShownStatement), number: 8 }) },
    ],
    [
      'whether it has a statement',
      11,
      '1 withheld',
      change(5, (line) => ({ ...line, statement: null })),
    ],
    // The export says that the robot signs with no key, and writes nothing.
    ['the key: none', 2, 'Not JSON', { keys: () => [] }],
    [
      'the key: a text of its own for its own key, over statements of its own',
      3,
      ', expected: 0x',
      {
        keys: (keys) => forgedKeys(keys),
        statements: async (all) => forgedStatements(all, await forgedKid()),
        wallet: thief.address,
      },
    ],
    [
      'the key: a text that the owner did not sign',
      3,
      'expected wallet',
      {
        keys: (keys) => forgedKeys(keys, user.wallet),
        statements: async (all) => forgedStatements(all, await forgedKid(user.wallet)),
      },
    ],
    [
      'the first number of the key',
      3,
      'does not follow',
      {
        keys: ([key]) => {
          const { grant, ...rest } = key as ShownKey;
          const text = grant.text.replace('First number: 1', 'First number: 5');
          return [{ ...rest, grant: { ...grant, text } }];
        },
        statements: (all) => all.slice(4),
      },
    ],
    ['the owner', 3, 'expected', { wallet: thief.address }],
  ])('is convicted if it lies about %s', async (_, exitCode, says, lie) => {
    liar.lie(lie);

    const { exitCodes, text } = await verified('arm');

    expect([exitCodes, text]).toEqual([[exitCode, exitCode], expect.stringContaining(says)]);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: members of the document that a lie changes
type Document = any;

async function bundleOf({ tasks }: Worker, n: number): Promise<Document> {
  const path = `/api/v1/tasks/${tasks[n]?.id}/bundle`;
  const read = () => service.call('GET', path, { session: owner.session });
  return waitFor('the bundle', async () => {
    const { status, body } = await read();
    return status === 200 && body;
  });
}

describe('a service that loses work', () => {
  it('is convicted if it drops 1 in 100 results that it accepted', async () => {
    const careless = await startWorker('careless');
    let results = 0;
    liar.lie({
      drops({ proof }) {
        results += 1;
        return results === 37 ? accepted(proof) : null;
      },
    });
    await work(careless, 100);
    liar.lie({});

    const { exitCodes, text } = await verified('careless');

    expect([exitCodes, text]).toEqual([[11, 11], expect.stringContaining('missing: 74')]);
  });

  it('is convicted if it promised to anchor what it drops', async () => {
    const careless = await startWorker('promising');
    let promise = '';
    liar.lie({
      drops({ task_id, proof }) {
        promise = promised(task_id);
        return { ...accepted(proof), promise };
      },
    });
    await work(careless, 1);
    liar.lie({});
    const file = user.file('promise.json');
    await writeFile(file, JSON.stringify({ promise }));

    const { exitCode, stdout } = await user.svc(['verify', file, '--rpc-url', service.rpcUrl]);

    expect([exitCode, stdout]).toEqual([14, expect.stringMatching(/^BROKEN\./)]);
  });

  it('is not convicted of what it cuts off the end, and the verdict does not cover it', async () => {
    liar.lie({ statements: (all) => all.slice(0, 6) });

    const { exitCodes, text } = await verified('arm');

    expect(exitCodes).toEqual([0, 0]);
    expect(text).toContain('1 to 6 of key');
    expect(text).toContain('what came after 6 cannot be shown yet');
  });

  it('is convicted if it cuts off the end of an archive, and a bundle shows a later number', async () => {
    liar.lie({ statements: (all) => all.slice(0, 4) });
    const folder = user.file('folder');
    await mkdir(folder);
    const archive = (await user.svc(['robots', 'export', 'arm'])).stdout;
    await writeFile(`${folder}/arm.jsonl`, archive);
    await writeFile(`${folder}/bundle.json`, JSON.stringify(await bundleOf(arm, 3)));

    const { exitCode, stdout } = await user.svc(
      ['verify', folder, '--owner', user.wallet],
      nowhere,
    );

    expect([exitCode, stdout]).toEqual([11, expect.stringContaining('missing: 5 to 6')]);
  });
});

/** The answer of a service that accepted a result. */
function accepted(proof: JsonObject): object {
  return {
    status: 'pending',
    error: 'anchor_unconfirmed',
    message: 'Wait for the anchor.',
    proof_hash: hashProof(proof),
    tx_hash: null,
    explorer_url: null,
  };
}

/** By the key of the service, with a deadline before the first block of the chain. */
function promised(task_id: string): string {
  const at = new Date(Date.now() - 3_600_000).toISOString();
  return promiseKeyOf(anvilAccounts[0].privateKey).signPromise({
    origin: liar.url,
    chain_id: 31337,
    accepted_at: at,
    anchored_by: at,
    leaves: [{ task_id, created_at: at, leaf: hashText('the leaf of the result') }],
  });
}

describe('two agents with one copied key', () => {
  /** The agent goes on, and its copy goes on from the same statement. */
  async function workTwice(name: string, epoch: string | undefined): Promise<void> {
    const first = await startWorker(name);
    await work(first, 1);
    const { id, kid, signer, number, prev } = first.signing;
    const copy = new SigningRobot(id, kid, signer, number);
    Object.assign(copy, { prev, epoch: epoch ?? first.signing.epoch });
    await work(first, 1);
    const task = { id: randomUUID(), title: 'Parcel of the copy' };
    const body = { ...task, statement: copy.claim(task) };
    // The service answers with a conflict, but keeps both statements.
    await service.call('POST', '/api/v1/tasks', { apiKey: first.robot.apiKey, body });
  }

  it.each([
    ['each was started', randomUUID(), 13, 'branched: 3'],
    ['one is a snapshot of the other while it runs', undefined, 12, 'forked: 3'],
  ])('are convicted if %s', async (name, epoch, exitCode, says) => {
    await workTwice(name, epoch);

    const { exitCodes, text } = await verified(name);

    expect([exitCodes, text]).toEqual([[exitCode, exitCode], expect.stringContaining(says)]);
  });
});

describe('a service that lies in a bundle', () => {
  let truth: Document;
  beforeAll(async () => {
    truth = await bundleOf(arm, 2);
  });

  const at = (path: string, to: (value: string) => unknown) => (bundle: Document) => {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const holder = names.reduce((value, name) => value[name], bundle);
    holder[last] = to(holder[last]);
  };
  const earlier = (time: string) => time.replace(/^20\d\d/, '2020');
  const withoutSignatures = (bundle: Document) => {
    delete bundle.signing;
    bundle.format = 'svc-bundle/1';
  };

  /** Without the service: with a node of the auditor. */
  async function verify(document: Document) {
    const file = user.file('bundle.json');
    await writeFile(file, JSON.stringify(document));
    const node = ['--rpc-url', service.rpcUrl, '--anchor-address', anvilAccounts[0].address];
    const found = await user.svc(['verify', file, ...node, '--owner', user.wallet], nowhere);
    return { exitCode: found.exitCode, text: found.stdout + found.stderr };
  }

  it('is not convicted while it lies about nothing', async () => {
    const { exitCode, text } = await verify(truth);

    expect([exitCode, text]).toEqual([0, expect.stringContaining('outcome failed')]);
  });

  it.each<[string, lie: (bundle: Document) => unknown]>([
    ['whether it was signed', withoutSignatures],
    ['the time of the claim', at('claim.created_at', earlier)],
    ['the time of the anchor', at('anchor.anchored_at', earlier)],
    ['the outcome', at('signing.result.statement', (text) => altered(text, /failed/, 'succeeded'))],
    [
      'who did it: the statement of another robot',
      async (bundle) => {
        bundle.signing.result = (await bundleOf(other, 0)).signing.result;
      },
    ],
    [
      'what was done: the statement about another task',
      async (bundle) => {
        bundle.signing.result = (await bundleOf(arm, 1)).signing.result;
      },
    ],
    [
      'the key: a text of its own for its own key',
      async (bundle) => {
        const { text, signature } = bundle.signing.key;
        const shown = { public_key: {}, grant: { text, signature, signed_at: '' } };
        const [forged] = await forgedKeys([shown]);
        const { public_key, grant } = forged as ShownKey;
        const { signed_at: _, ...signed } = grant;
        Object.assign(bundle.signing.key, { public_key, ...signed, anchor: null });
      },
    ],
  ])('is convicted if it lies about %s', async (_, lie) => {
    const document = structuredClone(truth);
    await lie(document);

    const { exitCode, text } = await verify(document);

    expect([exitCode, text]).toEqual([3, expect.stringContaining('NOT verified')]);
  });
});

async function statementOf({ robot, signing }: Worker, number: number): Promise<ShownStatement> {
  const path = `/api/v1/robots/${robot.id}/statements?kid=${signing.kid}`;
  const { body } = await service.call('GET', path, { session: owner.session });
  return body.items[number - 1];
}

async function forgedKid(wallet?: string): Promise<string> {
  const path = `/api/v1/robots/${arm.robot.id}/identity`;
  const { body } = await service.call('GET', path, { session: owner.session });
  const [key] = await forgedKeys(body.identity.keys, wallet as never);
  return kidOf(key?.grant.text ?? '');
}
