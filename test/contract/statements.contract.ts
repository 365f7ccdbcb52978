import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freeLeafHash, leafHash } from '../../src/proof/leaf.ts';
import { limits } from '../../src/protocol/limits.ts';
import type { Actor } from '../../src/server/ports/account.ts';
import type { Lease } from '../../src/server/ports/anchoring.ts';
import type { IdentityRecord } from '../../src/server/ports/identity.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { NewStatement, StatementOutcome } from '../../src/server/ports/statements.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { grantOf, newSigner, revocationOf } from '../support/signing-robot.ts';
import { failsWith, type OpenStore, randomHash, World } from './world.ts';

const ORIGIN = 'https://svc.example.org';

/** The keys that robots sign with, and their statements. The store checks no signature. */
export function statementContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.close();
  });

  const identity = async (of = robot): Promise<IdentityRecord> => {
    const found = await world.store.getIdentity(of.id, of.wallet);
    if (found === null) throw new Error('The robot is gone');
    return found;
  };
  const inApi = ({ wallet, robotId, nextNumber, last, keys }: IdentityRecord) => ({
    origin: ORIGIN,
    wallet,
    robot_id: robotId,
    next_number: nextNumber,
    last: last && { number: last.number, signed_hash: last.signedHash },
    keys,
  });
  const save = (text: string, by?: Actor) =>
    world.store.saveKeyText(
      {
        robotId: robot.id,
        wallet: robot.wallet,
        origin: ORIGIN,
        text,
        signature: '0x00',
        now: world.now,
      },
      by,
    );
  /** Returns the `kid` of a new key. */
  async function granted(by?: Actor): Promise<string> {
    const signer = newSigner();
    await world.store.proposeKey(robot, signer.publicKey);
    const saved = await save(grantOf(inApi(await identity()), signer), by);
    if (saved?.outcome !== 'granted') throw new Error(JSON.stringify(saved));
    return saved.key.kid;
  }
  const epoch = randomUUID();
  const statement = (kid: string, number: number, changes: Partial<NewStatement> = {}) => ({
    kid,
    number,
    type: 'claim' as const,
    epoch,
    signedHash: randomHash(),
    statementHash: randomHash(),
    text: 'e30.e30.AA',
    taskId: randomUUID(),
    ...changes,
  });
  const add = async (...statements: NewStatement[]): Promise<StatementOutcome[]> =>
    (await world.store.addStatements(robot, statements, { hasRoom: true, now: world.now })) ?? [];
  const outcomesOf = (answers: StatementOutcome[]) => answers.map(({ outcome }) => outcome);
  const listed = (kid: string) => world.store.listStatements(robot.id, kid, 100, null);

  describe('a key', () => {
    it('is proposed until the owner puts it into use', async () => {
      const signer = newSigner();

      const proposed = await world.store.proposeKey(robot, signer.publicKey);
      await save(grantOf(inApi(await identity()), signer));
      const again = await world.store.proposeKey(robot, signer.publicKey);

      expect(proposed).toMatchObject({ proposedKey: signer.publicKey, keys: [], nextNumber: 1 });
      expect(again).toEqual(await identity());
      expect(again).toMatchObject({
        proposedKey: null,
        keys: [{ publicKey: signer.publicKey, firstNumber: 1, lastNumber: null, revocation: null }],
      });
    });

    it('is not proposed with an API key that has ended, nor found in another account', async () => {
      const other = await world.robot();
      const kid = await granted();

      const { publicKey } = newSigner();
      expect(await world.store.proposeKey({ ...robot, keyHash: 'x' }, publicKey)).toBeNull();
      expect(await world.store.getIdentity(robot.id, other.wallet)).toBeNull();
      expect(await world.store.getKey(other.id, kid)).toBeNull();
      expect(await world.store.getKey(robot.id, kid)).toMatchObject({ kid });
    });

    it('ends the numbers of the key before it', async () => {
      const first = await granted();
      await add(statement(first, 1), statement(first, 2));
      const second = await granted();

      const answers = await add(statement(first, 3), statement(first, 2), statement(second, 3));

      expect(outcomesOf(answers)).toEqual(['key_ended', 'conflict', 'stored']);
      expect(await identity()).toMatchObject({
        nextNumber: 4,
        keys: [
          { kid: first, lastNumber: 2 },
          { kid: second, firstNumber: 3, lastNumber: null },
        ],
      });
    });

    it('accepts only numbers up to the last one of its revocation', async () => {
      const kid = await granted();
      const [one] = [statement(kid, 1), await add(statement(kid, 5))];
      const last = { number: 2, hash: randomHash() };

      await save(revocationOf(inApi(await identity()), { last }));

      expect(outcomesOf(await add(one, statement(kid, 3)))).toEqual(['stored', 'key_ended']);
      expect(await identity()).toMatchObject({ nextNumber: 6, keys: [{ lastNumber: 2 }] });
    });

    it('is put into use by one of two concurrent texts', async () => {
      const signer = newSigner();
      await world.store.proposeKey(robot, signer.publicKey);
      const now = inApi(await identity());
      const texts = [ORIGIN, ORIGIN].map((origin) => grantOf({ ...now, origin }, signer));

      const saved = await Promise.all(texts.map((text) => save(text)));

      expect(saved.map((one) => one?.outcome).sort()).toEqual(['granted', 'repeated']);
      expect((await identity()).keys).toHaveLength(1);
    });

    it('is recorded in the audit log', async () => {
      const by: Actor = { actor: 'session', actor_name: null, source: null, at: world.now };
      const kid = await granted(by);
      await save(revocationOf(inApi(await identity())), by);

      expect(await world.store.listAuditLog(robot.wallet, 2, null)).toMatchObject([
        { kind: 'signing_key_revoked', target_id: robot.id, detail: kid },
        { kind: 'signing_key_granted', target_id: robot.id, detail: kid },
      ]);
    });
  });

  describe('a robot with a key', () => {
    it('claims and completes nothing without a statement', async () => {
      await world.lease();
      const task = await world.task(robot.id);
      await granted();
      const claim = world.newTask(robot.id);

      expect(await world.store.createTask(claim)).toEqual({ outcome: 'statement_required' });
      expect(await world.store.queueCompletion(world.completion(task))).toEqual({
        outcome: 'statement_required',
      });
      expect(await world.store.createTask({ ...claim, isSigned: true })).toMatchObject({
        outcome: 'created',
      });
    });

    it('completes a task with the statement in its leaf', async () => {
      const lease = await world.lease();
      const kid = await granted();
      const claim = world.newTask(robot.id, { isSigned: true });
      const created = await world.store.createTask(claim);
      const { task } = created as { task: TaskRecord };
      const [stated, result] = [
        statement(kid, 1, { taskId: task.id, text: 'a.claim.A' }),
        statement(kid, 2, { taskId: task.id, text: 'a.result.A', type: 'result' }),
      ];
      await add(stated, result);
      const { proofHash, claimHash, ...completion } = world.completion(task);
      const { statementHash } = result;
      const leaf = leafHash({
        proof_hash: proofHash,
        task_id: task.id,
        robot_id: robot.id,
        claim_hash: claimHash,
        statement_hash: statementHash,
      });
      const hashes = { proofHash, claimHash, leaf, statementHash };
      await world.store.queueCompletion({ ...completion, ...hashes, outcome: 'failed' });
      await world.settled(lease);

      const found = await world.store.getBundle(task.id, { wallet: robot.wallet });
      const list = { wallet: robot.wallet, status: null, robotId: null };

      expect(found?.task.completion).toMatchObject({ statementHash, outcome: 'failed' });
      expect(found?.signing).toEqual({
        key: await world.store.getKey(robot.id, kid),
        result: 'a.result.A',
        claim: 'a.claim.A',
      });
      expect(await world.store.listTasks(list, 10, null)).toMatchObject([
        { progress: { outcome: 'failed' } },
      ]);
    });

    it('has no statement of another robot in its bundle', async () => {
      const lease = await world.lease();
      const task = await world.task(robot.id);
      const kid = await granted();
      const [mine, theirs] = [robot, await world.robot()];
      robot = theirs;
      await add(statement(await granted(), 1, { taskId: task.id, text: 'another.claim.A' }));
      robot = mine;
      const result = statement(kid, 1, { taskId: task.id, text: 'a.result.A', type: 'result' });
      await add(result);
      const { statementHash } = result;
      const { proofHash, claimHash, ...completion } = world.completion(task);
      const leaf = leafHash({
        proof_hash: proofHash,
        task_id: task.id,
        robot_id: robot.id,
        claim_hash: claimHash,
        statement_hash: statementHash,
      });
      const hashes = { proofHash, claimHash, leaf, statementHash };
      await world.store.queueCompletion({ ...completion, ...hashes, outcome: null });
      await world.settled(lease);

      const bundle = await world.store.getBundle(task.id, { wallet: robot.wallet });
      await world.store.deleteRobot(robot.id, robot.wallet, world.now);

      expect(bundle?.signing).toMatchObject({ result: 'a.result.A', claim: null });
      const { id } = theirs;
      const [key] = (await identity(theirs)).keys;
      expect(await world.store.listStatements(id, key?.kid ?? '', 9, null)).toMatchObject([
        { text: 'another.claim.A' },
      ]);
    });

    it('has no statement in the bundle of unsigned work', async () => {
      const task = await world.task(robot.id);

      expect(await world.store.getBundle(task.id, { wallet: robot.wallet })).toMatchObject({
        signing: null,
      });
    });
  });

  describe('statements', () => {
    let kid: string;
    beforeEach(async () => {
      kid = await granted();
    });

    it('are stored once, and repeated with the hash that is stored', async () => {
      const first = statement(kid, 1);
      const { signedHash, statementHash: hash } = first;

      expect(await add(first)).toEqual([{ outcome: 'stored', hash }]);
      expect(await add({ ...statement(kid, 1), signedHash })).toEqual([
        { outcome: 'repeated', hash },
      ]);
      expect(await listed(kid)).toHaveLength(1);
      expect((await identity()).last).toEqual({ number: 1, signedHash, text: first.text });
    });

    it('conflict with an older one of their number and epoch, also when repeated', async () => {
      const [first, fork, branch] = [1, 2, 3].map(() => statement(kid, 7)) as NewStatement[];
      const branched = { ...(branch as NewStatement), epoch: randomUUID() };
      const all = [first, fork, branched] as NewStatement[];

      expect(outcomesOf(await add(...all))).toEqual(['stored', 'conflict', 'stored']);
      expect(outcomesOf(await add(...all))).toEqual(['repeated', 'conflict', 'repeated']);
      expect((await listed(kid)).map(({ number, place }) => [number, place])).toEqual([
        [7, 1],
        [7, 2],
        [7, 3],
      ]);
    });

    it('of one number are kept up to a limit, however many come at once', async () => {
      const most = limits.statementsPerNumber;
      const answers = await Promise.all(
        Array.from({ length: most + 4 }, () => add(statement(kid, 1))),
      );

      const outcomes = outcomesOf(answers.flat());
      expect(outcomes.filter((one) => one === 'stored')).toHaveLength(1);
      expect(outcomes.filter((one) => one === 'full')).toHaveLength(4);
      expect(await listed(kid)).toHaveLength(most);
    });

    it('are listed in the order of their numbers, in pages', async () => {
      await add(...[3, 1, 2, 1].map((number) => statement(kid, number)));
      const all = await listed(kid);

      const [first, second] = await world.store.listStatements(robot.id, kid, 2, null);
      const rest = await world.store.listStatements(robot.id, kid, 9, second ?? null);

      expect(all.map(({ number }) => number)).toEqual([1, 1, 2, 3]);
      expect([first, second, ...rest]).toEqual(all);
      expect(await world.store.listStatements(randomUUID(), kid, 9, null)).toEqual([]);
    });

    it('are refused once the API key has ended', async () => {
      const ended = { ...robot, keyHash: 'x' };
      const options = { hasRoom: true, now: world.now };

      expect(await world.store.addStatements(ended, [statement(kid, 1)], options)).toBeNull();
      expect(await listed(kid)).toEqual([]);
    });

    it('are stored without room only for a result that is going to be anchored', async () => {
      await world.lease();
      const created = await world.store.createTask(world.newTask(robot.id, { isSigned: true }));
      const { task } = created as { task: TaskRecord };
      const [claim, other] = [statement(kid, 1), statement(kid, 2, { type: 'result' })];
      const paid = statement(kid, 3, { type: 'result', taskId: task.id });
      const options = { hasRoom: false, now: world.now };

      const answers = await world.store.addStatements(robot, [claim, other, paid, paid], options);

      expect(outcomesOf(answers ?? [])).toEqual(['no_room', 'no_room', 'stored', 'repeated']);
    });

    it('count in the usage of the account until the robot is deleted', async () => {
      const task = await world.store.createTask(world.newTask(robot.id, { isSigned: true }));
      const { id } = (task as { task: TaskRecord }).task;
      await add(statement(kid, 1, { taskId: id }), statement(kid, 2), statement(kid, 2));
      await granted();
      await world.reopen();
      const before = await world.store.recountStorage();

      await world.store.deleteRobot(robot.id, robot.wallet, world.now);
      await world.reopen();

      expect(before).toEqual({ accounts: 0, bytes: 0 });
      expect(await world.store.recountStorage()).toEqual({ accounts: 0, bytes: 0 });
      expect(await world.store.getKey(robot.id, kid)).toBeNull();
      expect(await listed(kid)).toEqual([]);
    });
  });

  describe('the leaf of a claim', () => {
    const claimed = async () => {
      const kid = await granted();
      const claim = statement(kid, 1);
      await add(claim);
      return { lease: await world.lease(), leaf: freeLeafHash('claim', claim.statementHash) };
    };
    const committed = async (lease: Lease) => {
      const proofs = await world.store.listQueuedProofs(lease, 10);
      const freeLeaves = await world.store.listFreeLeaves(lease, 10);
      const nonce = await world.store.getNextNonce(lease);
      const attempt = world.attempt(proofs, { freeLeaves, ...(nonce !== null && { nonce }) });
      await world.store.commitAttempt(lease, attempt);
      return attempt;
    };

    it('takes a place behind the proofs, which pay for it', async () => {
      const unsigned = await world.robot();
      const { lease, leaf } = await claimed();
      await world.queued(unsigned.id, 2);
      const attempt = await committed(lease);
      await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);
      await world.store.settleLeaves(lease, attempt.id, 5, world.now);

      const found = await world.store.getLeafAnchor(leaf, null);
      expect(found).toMatchObject({
        leaves: [...attempt.leaves.map((one) => one.leaf), ...attempt.freeLeaves],
        txHash: attempt.variant.txHash,
        chainProof: null,
      });
      expect(found?.leaves[found.leafIndex]).toBe(leaf);
      const proof = attempt.leaves[0] as (typeof attempt.leaves)[0];
      const ofProof = await world.store.getLeafAnchor(proof.leaf, proof.taskId);
      expect(ofProof).toEqual({ ...found, leafIndex: 0 });
      expect(await world.store.getLeafAnchor(proof.leaf, null)).toBeNull();
      expect(await world.store.listFreeLeaves(lease, 10)).toEqual([]);
    });

    it('waits again when its transaction can never be mined', async () => {
      const unsigned = await world.robot();
      const { lease, leaf } = await claimed();
      await world.queued(unsigned.id, 2);
      const attempt = await committed(lease);

      await world.store.recordReplacedNonce(lease, attempt.id, world.now);

      expect(await world.store.getLeafAnchor(leaf, null)).toBeNull();
      expect(await world.store.listFreeLeaves(lease, 10)).toContain(leaf);
    });

    it('is in one transaction only', async () => {
      const unsigned = await world.robot();
      const { lease } = await claimed();
      await world.queued(unsigned.id, 4);
      const [first, ...others] = await world.store.listQueuedProofs(lease, 2);
      const freeLeaves = await world.store.listFreeLeaves(lease, 10);
      const proofs = first === undefined ? [] : [first, ...others];
      await world.store.commitAttempt(lease, world.attempt(proofs, { freeLeaves }));
      const rest = await world.store.listQueuedProofs(lease, 2);

      const second = world.attempt(rest, { freeLeaves });
      await expect(world.store.commitAttempt(lease, second)).rejects.toMatchObject(
        failsWith('not_queued'),
      );
    });

    it('is not kept for an account without an anchor, other than that of a key text', async () => {
      const { anchorQuota } = (await world.store.getBalance(robot.wallet)) ?? { anchorQuota: 0 };
      const taken = {
        id: randomUUID(),
        wallet: robot.wallet,
        gasWei: 0n,
        note: '',
        now: world.now,
      };
      await world.store.revokeCredits({ ...taken, anchors: anchorQuota });

      const { lease, leaf } = await claimed();

      const waiting = await world.store.listFreeLeaves(lease, 10);
      expect(waiting).toHaveLength(1);
      expect(waiting).not.toContain(leaf);
    });
  });
}
