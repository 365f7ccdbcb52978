import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import {
  type ClaimContent,
  contentHash,
  grantText,
  type Hex,
  hashClaim,
  hashProof,
  hashText,
  type KeyGrant,
  kidOf,
  leafHash,
  openKey,
  type Proof,
  type PublicKey,
  type ReadStatement,
  readStatement,
  revocationText,
  thumbprintOf,
} from '../../src/proof/index.ts';
import { joinSignature } from '../../src/proof/statements/jws.ts';
import { type AnchorPromise, promiseText } from '../../src/proof/statements/promise.ts';
import { algorithmOf } from '../../src/proof/statements/public-key.ts';
import type { TaskContent } from '../../src/proof/statements/statement.ts';
import type { SigningKey } from '../../src/protocol/identity.ts';

const ROBOT = '01900000-0000-7000-8000-00000000000a';
const WALLET = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const NOW = '2026-11-28T12:00:00.000Z';
const ZERO = `0x${'0'.repeat(64)}`;

const HOUR = 60 * 60_000;

/** A time from now, as the service writes it. */
export function isoIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

interface HeldTask {
  task: Record<string, unknown>;
  receipt: object | null;
  /** Of a result that waits for its anchor: what is shown, and the receipt that follows. */
  anchor: { shown: object; receipt: object } | null;
}

/** `key`: signs in place of the key in the list. `leaf`: of the only leaf. */
type PromiseChanges = Partial<Omit<AnchorPromise, 'leaves'> & { leaf: string; key: KeyObject }>;

export type SigningService = Awaited<ReturnType<typeof startSigningService>>;

/**
 * A service for one robot that wants statements from the owner's signature on, and anchors at once. Its public URL is
 * another one than that of the tests.
 */
export async function startSigningService() {
  const origin = 'https://svc.example.org';
  const keys: SigningKey[] = [];
  const tasks = new Map<string, HeldTask>();
  const promiseKey = generateKeyPairSync('ed25519');
  const { kty, crv, x } = promiseKey.publicKey.export({ format: 'jwk' });
  const promise_key = {
    kid: thumbprintOf({ kty, crv, x } as PublicKey),
    public_key: { kty, crv, x },
  };
  const statements = new Map<number, { text: string; read: ReadStatement }>();
  const bodies: { path: string; body: Record<string, unknown> }[] = [];
  let proposed: PublicKey | null = null;
  let wallet = WALLET;
  let isDown = false;
  let isAnchoring = true;
  let shownKeys = Number.MAX_SAFE_INTEGER;
  let lastChanges: object | null = null;
  let isStripping = false;
  let isLosing = false;
  let list: 'keys' | 'no keys' | 'missing' | 'silent' = 'keys';
  let promising: PromiseChanges | null = null;

  const identity = () => {
    const number = Math.max(0, ...statements.keys());
    const last = statements.get(number);
    const isOfNewest = last?.read.header.kid === keys.at(-1)?.kid;
    return {
      origin,
      wallet,
      robot_id: ROBOT,
      proposed_key: proposed,
      signs: keys.length > 0,
      next_number: number + 1,
      last:
        last !== undefined && isOfNewest
          ? {
              ...{ number, signed_hash: last.read.signedHash, statement: last.text },
              ...lastChanges,
            }
          : null,
      keys: keys.slice(0, shownKeys),
    };
  };
  /** Whether the statement may be missing or is valid; it is then kept. */
  const keep = async (text: unknown, content?: object): Promise<boolean> => {
    const key = keys.at(-1);
    if (key === undefined) return true;
    if (typeof text !== 'string') return false;
    const read = readStatement(text);
    const check = await openKey(key.public_key as PublicKey);
    const isOther =
      content !== undefined && read.statement.content_hash !== contentHash(content as TaskContent);
    if (isOther) return false;
    if (read.header.kid !== key.kid || !(await check(read.signed, read.signature))) return false;
    statements.set(read.statement.number, { text, read });
    return true;
  };
  const promiseFor = (task: Record<string, unknown>, proof_hash: string, statement?: string) => {
    const { id: task_id, created_at } = task as { id: string; created_at: string };
    const claim_hash = hashClaim(task as unknown as ClaimContent);
    const work = { proof_hash, task_id, robot_id: ROBOT, claim_hash };
    const leaf = leafHash({ ...work, statement_hash: statement ? hashText(statement) : null });
    const { leaf: changed = leaf, key = promiseKey.privateKey, ...changes } = promising ?? {};
    const now = new Date();
    const due = new Date(now.getTime() + 24 * HOUR);
    const times = { accepted_at: now.toISOString(), anchored_by: due.toISOString() };
    const about = { leaves: [{ task_id, created_at, leaf: changed as Hex }] };
    const header = { alg: 'Ed25519', kid: promise_key.kid } as const;
    const signed = promiseText(header, {
      origin,
      chain_id: 1,
      ...times,
      ...about,
      ...changes,
    });
    return joinSignature(signed, sign(null, Buffer.from(signed), key));
  };
  const robot = {
    ...{ id: ROBOT, name: 'arm', description: null, fleet_id: null, key_hint: null },
    ...{ created_at: NOW, updated_at: NOW, last_seen_at: null, battery_pct: null, state: null },
    ...{ battery_low_since: null, state_since: null, state_at: null, clock_behind_s: null },
    ...{ last_error: null, current_task: null },
  };
  const answerTo = async (
    method: string,
    path: string,
    body: Record<string, unknown>,
  ): Promise<[number, object]> => {
    const id = path.split('/')[4] ?? '';
    const found = tasks.get(id);
    if (path === '/api/v1/robot') return [200, { robot }];
    if (path === '/.well-known/svc-anchors.json' && list !== 'missing') {
      const blocks = { first_block: '1', last_block: null };
      const account = { chain_id: 1, address: WALLET, ...blocks, signature: null };
      const accounts = [list === 'keys' ? { ...account, promise_key } : account];
      const about = { origin, sequence: 1, accounts, signatures: [] };
      return [200, { format: 'svc-anchors/1', ...about }];
    }
    if (path === '/api/v1/events') {
      const event = { message: '', ...body, robot_id: ROBOT, created_at: NOW };
      return [201, { event: { payload: {}, ...event } }];
    }
    if (path === '/api/v1/identity') {
      proposed = body.public_key as PublicKey;
      return [200, { identity: identity() }];
    }
    if (path === '/api/v1/statements') {
      for (const text of body.statements as string[]) await keep(text);
      const kept = { signed_hash: null, outcome: 'stored', message: null };
      return [200, { statements: (body.statements as string[]).map(() => kept) }];
    }
    const required = [
      403,
      { error: 'statement_required', message: 'No valid statement.' },
    ] as const;
    if (method === 'POST' && path === '/api/v1/tasks') {
      if (!(await keep(body.statement, body))) return [...required];
      const other = tasks.get(String(body.id))?.task;
      if (other !== undefined && other.occurred_at !== body.occurred_at) {
        return [409, { error: 'id_conflict', message: 'The id is in use.' }];
      }
      const { id: given, title, description = null } = body;
      const task = { id: given, title, description, status: 'claimed', created_at: NOW };
      const { expected_result = null, occurred_at } = body;
      const rest = { robot_id: ROBOT, credit_refused_at: null, outcome: null };
      tasks.set(String(given), {
        task: { ...task, expected_result, occurred_at, ...rest },
        receipt: null,
        anchor: null,
      });
      return [201, { task, next: 'Do the work' }];
    }
    if (found === undefined) return [404, { error: 'not_found', message: 'No such task.' }];
    if (method === 'GET') {
      if (isAnchoring && found.receipt === null) found.receipt = found.anchor?.receipt ?? null;
      const anchor = found.receipt === null ? (found.anchor?.shown ?? null) : null;
      return [200, { task: found.task, anchor, verification: found.receipt }];
    }
    if (!(await keep(body.statement, found.task))) return [...required];
    if (found.receipt !== null) {
      const refusal = { error: 'already_completed', message: 'It has a receipt.' };
      return [409, { ...refusal, verification: found.receipt }];
    }
    const proofHash = hashProof(body.proof as Proof);
    const rest = { proof_hash: proofHash, tx_hash: null, explorer_url: null };
    const pending = { status: 'pending', error: 'anchor_unconfirmed', message: 'Wait.', ...rest };
    const statement = isStripping ? undefined : (body.statement as string | undefined);
    const verification = {
      format: statement === undefined ? 'svc-receipt/1' : 'svc-receipt/2',
      ...{ task_id: id, robot_id: ROBOT, status: 'verified', proof_hash: proofHash, tx_hash: ZERO },
      ...{ block_number: '1', anchored_at: NOW, explorer_url: 'https://example.org/', chain_id: 1 },
      ...{ claim_hash: ZERO, inclusion: null, finality: 'included' },
      ...(statement !== undefined && { statement_hash: hashText(statement) }),
    };
    if (!isAnchoring && promising !== null) {
      const times = { accepted_at: NOW, anchored_by: null, updated_at: NOW };
      const shown = { ...rest, state: 'queued', attempts: 0, ...times };
      found.anchor = { shown, receipt: verification };
      return [202, { ...pending, promise: promiseFor(found.task, proofHash, statement) }];
    }
    if (!isAnchoring) return [202, pending];
    found.receipt = verification;
    return [200, { verification }];
  };
  const unanswered: ServerResponse[] = [];
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request;
    const body = method === 'POST' ? ((await json(request)) as Record<string, unknown>) : {};
    if (isDown) {
      response.destroy();
      return;
    }
    bodies.push({ path, body });
    if (list === 'silent' && path.startsWith('/.well-known')) {
      unanswered.push(response);
      return;
    }
    const [status, answer] = await answerTo(method, path, body);
    if (isLosing && path.endsWith('/complete')) {
      response.destroy();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: url(),
    bodies,
    get proposed() {
      return proposed;
    },
    set isDown(down: boolean) {
      isDown = down;
    },
    set isAnchoring(anchoring: boolean) {
      isAnchoring = anchoring;
    },
    /** Answers without a receipt carry a promise, with these changes; null for none. */
    set promising(changes: PromiseChanges | null) {
      promising = changes;
    },
    /** What the list of accounts answers: nothing if it is silent. */
    set list(kind: typeof list) {
      list = kind;
      for (const response of unanswered.splice(0)) response.destroy();
    },
    /** Answers to completions are lost. */
    set isLosing(losing: boolean) {
      isLosing = losing;
    },
    /** The receipts that follow do not name the statement. */
    set isStripping(stripping: boolean) {
      isStripping = stripping;
    },
    /** Answers about the key leave out all but the first ones. */
    set shownKeys(count: number) {
      shownKeys = count;
    },
    /** Of what answers about the key state as the last statement. */
    set lastChanges(changes: object) {
      lastChanges = changes;
    },
    /** Another owner, as the service says. */
    set wallet(other: string) {
      wallet = other;
    },
    /** The owner puts the proposed key into use. */
    grant(changes: { origin?: string } = {}) {
      if (proposed === null) throw new Error('No key was proposed');
      const grant = {
        ...{ origin, wallet, robot_id: ROBOT, algorithm: algorithmOf(proposed) },
        thumbprint: thumbprintOf(proposed),
        first_number: identity().next_number,
        predecessor: keys.at(-1)?.kid ?? null,
        ...changes,
      } as KeyGrant;
      const text = grantText(grant);
      const signed = { text, signature: '0x00', signed_at: NOW };
      keys.push({ kid: kidOf(text), public_key: proposed, grant: signed, revocation: null });
    },
    /** A wallet takes the key in use out of use: the owner's, unless another is named. */
    revoke(by = wallet) {
      const key = keys.pop();
      if (key === undefined) throw new Error('No key is in use');
      const about = { origin, wallet: by as Hex, robot_id: ROBOT, kid: key.kid, last: null };
      const revocation = { text: revocationText(about), signature: '0x00', signed_at: NOW };
      keys.push({ ...key, revocation });
    },
    /** Those that the service has, in the order of their numbers. */
    statements: () =>
      [...statements.entries()].sort(([a], [b]) => a - b).map(([, statement]) => statement),
    /** A restored backup: neither tasks nor statements. */
    forget() {
      tasks.clear();
      statements.clear();
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
