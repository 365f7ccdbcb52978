import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { AccountSummary, Actor, Deletion } from '../../src/server/ports/account.ts';
import type { NewCliCode, NewSession } from '../../src/server/ports/sign-in.ts';
import { newWallet, type OpenStore, reservedWei, sha256Hex, source, World } from './world.ts';

export function accountContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  async function signedIn(wallet = newWallet(), session = world.session()) {
    await world.store.signIn(world.signIn(await world.savedChallenge(wallet), { session }));
    return { wallet, session };
  }

  it("counts an account's robots and fleets", async () => {
    const wallet = await world.account();
    expect(await world.store.countUsed(wallet)).toEqual({ robots: 0, fleets: 0 });

    await world.robot(wallet);
    await world.robot(wallet);
    await world.robot();

    expect(await world.store.countUsed(wallet)).toEqual({ robots: 2, fleets: 0 });
  });

  it('summarizes an account for the operator', async () => {
    const lease = await world.lease();
    const wallet = await world.account(10, 10n ** 9n);
    const robot = await world.robot(wallet);
    await world.queued(robot.id, 2);
    await world.settled(lease, 1);
    await world.account();

    const summary = await world.store.summarizeAccount(world.now, wallet);

    expect(summary).toMatchObject({ wallet, suspendedAt: null, robots: 1, queued: 1, anchors: 1 });
    expect(summary?.anchorQuota).toBe(8);
    const all = await world.store.summarizeAccounts(world.now, 10, null);
    expect(all).toHaveLength(2);
    const [first, second] = all.map((one) => one.wallet);
    expect(await world.store.summarizeAccounts(world.now, 1, first ?? '')).toMatchObject([
      { wallet: second },
    ]);
  });

  it('counts returned reservations of an account, and cost above its reservations', async () => {
    const lease = await world.lease();
    const wallet = await world.account(10, 10n ** 9n);
    const robot = await world.robot(wallet);
    const [refused] = await world.queued(robot.id, 1);
    await world.store.failQueuedProofs(lease, [refused?.id ?? ''], 'no gas', world.now);
    await world.queued(robot.id, 2);
    const attempt = await world.committed(lease);
    const dear = world.mined(attempt, { effectiveGasPrice: 10n ** 10n });
    await world.store.recordInclusion(lease, attempt.id, dear, world.now);
    await world.store.settleLeaves(lease, attempt.id, 2, world.now);
    const covered = await world.robot();
    await world.queued(covered.id, 1);
    await world.settled(lease);

    const summaries = await world.store.summarizeAccounts(world.now, 10, null);

    const costs = ({ returned, uncoveredWei }: AccountSummary) => ({ returned, uncoveredWei });
    const cost = dear.gasUsed * dear.effectiveGasPrice + dear.dataFeeWei;
    const uncovered = cost - 2n * reservedWei;
    const own = summaries.find((one) => one.wallet === wallet);
    expect(own && costs(own)).toEqual({ returned: 1, uncoveredWei: Number(uncovered) });
    const other = summaries.find((one) => one.wallet === covered.wallet);
    expect(other && costs(other)).toEqual({ returned: 0, uncoveredWei: 0 });
  });

  it('refuses a sign-in to a suspended account, and keeps the challenge', async () => {
    const { wallet } = await signedIn();
    const by = { actor: 'operator', actor_name: 'test', source: null, at: world.now } as const;
    const challenge = await world.savedChallenge(wallet);
    await world.store.suspendAccount(wallet, true, by, null);

    const refused = await world.store.signIn(world.signIn(challenge));
    await world.store.suspendAccount(wallet, false, by, null);

    expect(refused).toBe('account_suspended');
    expect(await world.store.signIn(world.signIn(challenge))).toBe('signed_in');
  });

  it('changes the reason of a suspension, and records each change once', async () => {
    const wallet = await world.account();
    const by = { actor: 'operator', actor_name: 'test', source: null, at: world.now } as const;
    const suspend = (reason: string | null, isSuspended = true) =>
      world.store.suspendAccount(wallet, isSuspended, { ...by, at: world.now }, reason);
    const shown = async () => {
      const summary = await world.store.summarizeAccount(world.now, wallet);
      return [summary?.suspensionReason, summary?.suspendedAt];
    };

    const suspendedAt = world.now;
    await suspend('unpaid');
    const first = await shown();
    world.clock.advance(1000);
    await suspend('unpaid since May');
    await suspend('unpaid since May');
    await suspend(null);
    const second = await shown();
    await suspend('paid', false);

    expect(first).toEqual(['unpaid', suspendedAt]);
    expect(second).toEqual(['unpaid since May', suspendedAt]);
    expect(await shown()).toEqual([null, null]);
    const entries = await world.store.listAuditLog(wallet, 10, null);
    expect(entries.map(({ kind, detail }) => [kind, detail])).toEqual([
      ['account_resumed', 'paid'],
      ['account_suspended', 'unpaid since May'],
      ['account_suspended', 'unpaid'],
    ]);
  });

  it('suspends no account that does not exist', async () => {
    const by = { actor: 'operator', actor_name: 'test', source: null, at: world.now } as const;

    expect(await world.store.suspendAccount(newWallet(), true, by, null)).toBe(false);
  });

  it('keeps one key for cursors, through a restart too', async () => {
    const key = await world.store.cursorKey();
    await world.reopen();

    expect(key).toHaveLength(32);
    expect(await world.store.cursorKey()).toEqual(key);
    const other = await World.open(open);
    expect(await other.store.cursorKey()).not.toEqual(key);
    await other.close();
  });

  describe('the ledger', () => {
    it('is listed newest first, with what each entry is for', async () => {
      const lease = await world.lease();
      const wallet = await world.account(10, 10n ** 9n);
      const robot = await world.robot(wallet);
      const [settled, refused] = await world.queued(robot.id, 2);
      await world.store.failQueuedProofs(lease, [refused?.id ?? ''], 'no funds', world.now);
      await world.settled(lease);

      const entries = await world.store.listLedger({ wallet, taskId: null }, 10, null);

      const cost = 22_280n * 11n + 3n;
      expect(
        entries.map(({ kind, anchors, gasWei, taskId }) => [kind, anchors, gasWei, taskId]),
      ).toEqual([
        ['settle', 0, reservedWei - cost, settled?.id],
        ['release', 1, reservedWei, refused?.id],
        ['reserve', -1, -reservedWei, refused?.id],
        ['reserve', -1, -reservedWei, settled?.id],
        ['grant', 10, 10n ** 9n, null],
      ]);
      const ofTask = await world.store.listLedger({ wallet, taskId: settled?.id ?? '' }, 10, null);
      expect(ofTask.map(({ kind, costWei }) => [kind, costWei])).toEqual([['reserve', cost]]);
      expect(entries[0]).toMatchObject({ cycle: 1, grantId: null });
      expect(entries.at(-1)).toMatchObject({
        cycle: null,
        grantId: expect.any(String),
        note: '',
        at: world.now,
      });
    });

    it('is read in pages, and never holds entries of another account', async () => {
      const wallet = await world.account(1, 1n);
      for (let i = 0; i < 4; i += 1) {
        await world.grant(wallet, i, 0n);
        await world.account();
      }

      const first = await world.store.listLedger({ wallet, taskId: null }, 3, null);
      const second = await world.store.listLedger(
        { wallet, taskId: null },
        3,
        first.at(-1)?.seq ?? null,
      );

      expect([...first, ...second].map(({ anchors }) => anchors)).toEqual([3, 2, 1, 0, 1]);
      expect(await world.store.listLedger({ wallet: newWallet(), taskId: null }, 3, null)).toEqual(
        [],
      );
    });
  });

  describe('a deletion', () => {
    const by = (): Actor => ({
      actor: 'operator',
      actor_name: 'test',
      source: null,
      at: world.now,
    });
    const signInTo = async (wallet: string) =>
      world.store.signIn(world.signIn(await world.savedChallenge(wallet)));
    const kindsOf = async (wallet: string) =>
      (await world.store.listAuditLog(wallet, 10, null)).map(({ kind }) => kind);

    async function begun(wallet: string): Promise<Deletion> {
      const deletion = await world.store.beginDeletion(wallet, by());
      if (deletion === null) throw new Error('The wallet has no account');
      return deletion;
    }

    it('ends the sessions, tokens, robot keys and alert rules of its account alone', async () => {
      const inUse = async () => {
        const { wallet, session } = await signedIn();
        const { keyHash } = await world.robot(wallet);
        const token = world.session();
        const members = { wallet, name: 'ci', scope: 'read', issuer: session.id } as const;
        await world.store.createToken({ ...token, ...members }, by());
        await world.store.saveAlertRule(wallet, { kind: 'battery_low', threshold: 20 });
        const isLive = async ({ tokenHash }: NewSession) =>
          (await world.store.authenticateSession(tokenHash, false, world.now)) !== null;
        const left = async () => ({
          session: await isLive(session),
          token: await isLive(token),
          key: (await world.store.authenticateRobot(keyHash)) !== null,
          rule: (await world.store.listAlertRules(wallet)).length > 0,
        });
        return { wallet, left };
      };
      const [deleted, other] = [await inUse(), await inUse()];

      await begun(deleted.wallet);

      const nothing = { session: false, token: false, key: false, rule: false };
      expect(await deleted.left()).toEqual(nothing);
      expect(await other.left()).toEqual({ session: true, token: true, key: true, rule: true });
    });

    it('is listed until it ends, also after a restart', async () => {
      const deletion = await begun(await world.account());
      await world.account();
      await world.reopen();

      expect(await world.store.listDeletions()).toEqual([deletion]);
      expect(await world.store.isDeleting(deletion)).toBe(true);
      await world.store.endDeletion(deletion);
      expect(await world.store.listDeletions()).toEqual([]);
      expect(await world.store.isDeleting(deletion)).toBe(false);
    });

    it('refuses sign-ins until it ends, and keeps the credits', async () => {
      const wallet = await world.account(3, 1000n);
      const deletion = await begun(wallet);

      expect(await signInTo(wallet)).toBe('account_suspended');
      await world.store.endDeletion(deletion);
      expect(await signInTo(wallet)).toBe('signed_in');
      const balance = { wallet, anchorQuota: 3, gasCreditWei: 1000n };
      expect(await world.store.getBalance(wallet)).toEqual(balance);
    });

    it('leaves the account suspended if the operator suspended it', async () => {
      const wallet = await world.account();
      await world.store.suspendAccount(wallet, true, by(), null);

      await world.store.endDeletion(await begun(wallet));

      expect(await signInTo(wallet)).toBe('account_suspended');
    });

    it('keeps its start time and its one audit entry when it is begun again', async () => {
      const wallet = await world.account();
      const deletion = await begun(wallet);
      world.clock.advance(1000);

      expect(await begun(wallet)).toEqual(deletion);
      expect(await kindsOf(wallet)).toEqual(['account_deletion_began']);
    });

    it('does not begin for a wallet without an account', async () => {
      expect(await world.store.beginDeletion(newWallet(), by())).toBeNull();
      expect(await world.store.listDeletions()).toEqual([]);
    });

    it('deletes all alerts and the audit log of its account alone', async () => {
      const [wallet, other] = [await world.account(), await world.account()];
      const firing = (wallet: string) => {
        return { wallet, kind: 'battery_low', threshold: 20, robot_id: uuid() } as const;
      };
      // More than one commit deletes.
      const many = Array.from({ length: 501 }, () => firing(wallet));
      await world.store.changeAlerts([...many, firing(other)], [], world.now);
      for (const one of [wallet, other]) await world.store.recordExport(one, by());
      const filter = { open: false, limit: 1000, before: null };
      const left = async (one: string) => [
        (await world.store.listAlerts(one, filter)).length,
        await kindsOf(one),
      ];

      await world.store.endDeletion(await begun(wallet));

      expect(await left(wallet)).toEqual([0, []]);
      expect(await left(other)).toEqual([1, ['account_exported']]);
    });

    it('ends the keys of robots that were created after it began', async () => {
      const wallet = await world.account();
      const deletion = await begun(wallet);
      const { keyHash } = await world.robot(wallet);
      expect(await world.store.authenticateRobot(keyHash)).not.toBeNull();

      await world.store.endDeletion(deletion);

      expect(await world.store.authenticateRobot(keyHash)).toBeNull();
    });

    it('changes nothing once it has ended, not even during a second deletion', async () => {
      const wallet = await world.account();
      const first = await begun(wallet);
      await world.store.endDeletion(first);
      world.clock.advance(1000);
      const second = await begun(wallet);

      await world.store.endDeletion(first);

      expect(await world.store.listDeletions()).toEqual([second]);
      expect(await kindsOf(wallet)).toEqual(['account_deletion_began']);
    });
  });

  describe('sessions', () => {
    it('are listed newest first in pages, those of the account that live', async () => {
      const { wallet, session: first } = await signedIn();
      world.clock.advance(1000);
      const { session: second } = await signedIn(wallet);
      await signedIn();
      const list = (now: number, limit = 10, before: string | null = null) =>
        world.store.listSessions(wallet, now, limit, before);

      const { id, createdAt, expiresAt } = second;
      expect(await list(world.now)).toMatchObject([
        { id, createdAt, expiresAt, signedInWith: 'wallet' },
        expect.objectContaining({ id: first.id }),
      ]);
      expect((await list(world.now, 1, second.id)).map((session) => session.id)).toEqual([
        first.id,
      ]);
      expect((await list(first.expiresAt)).map((session) => session.id)).toEqual([second.id]);
    });

    it('are at most 100, the oldest ended first, however they are opened', async () => {
      const { wallet, session: oldest } = await signedIn();
      const { session: second } = await signedIn(wallet);
      const { session: other } = await signedIn();
      const isLive = async ({ tokenHash }: NewSession) =>
        (await world.store.authenticateSession(tokenHash, false, world.now)) !== null;
      const newest = [];
      for (let i = 2; i < 100; i += 1) newest.push((await signedIn(wallet)).session);

      expect(await isLive(oldest)).toBe(true);
      const maker = newest.at(-1) ?? oldest;
      newest.push((await signedIn(wallet)).session);
      expect(await isLive(oldest)).toBe(false);
      expect(await isLive(second)).toBe(true);
      const code = await world.savedCliCode();
      const decision = { decision: 'allow', sessionId: maker.id, now: world.now } as const;
      await world.store.decideCliCode({ userHash: code.userHash, ...decision });
      newest.push(world.session());
      const session = newest.at(-1) ?? oldest;
      await world.store.redeemCliCode({ deviceHash: code.deviceHash, session, now: world.now });

      expect(await isLive(second)).toBe(false);
      expect(await Promise.all([...newest, other].map(isLive))).toEqual(Array(101).fill(true));
    });

    it('end the oldest of the others where a clock went back', async () => {
      const { wallet, session: oldest } = await signedIn();
      for (let i = 1; i < 100; i += 1) await signedIn(wallet);

      const { session } = await signedIn(wallet, world.session({ id: uuid({ msecs: 1 }) }));

      const isLive = async ({ tokenHash }: NewSession) =>
        (await world.store.authenticateSession(tokenHash, false, world.now)) !== null;
      expect([await isLive(session), await isLive(oldest)]).toEqual([true, false]);
    });

    it('end at once by id, only for their own account', async () => {
      const { wallet, session } = await signedIn();

      expect(await world.store.endSession(newWallet(), session.id)).toBe(false);
      expect(await world.store.endSession(wallet, session.id)).toBe(true);
      expect(await world.store.endSession(wallet, session.id)).toBe(false);

      const found = await world.store.authenticateSession(session.tokenHash, false, world.now);
      expect(found).toBeNull();
    });
  });

  describe('a code for the command line', () => {
    const decide = (
      { userHash }: Pick<NewCliCode, 'userHash'>,
      { id: sessionId }: NewSession,
      decision?: 'allow' | 'refuse',
    ) => world.store.decideCliCode({ userHash, decision, sessionId, now: world.now });
    const redeem = ({ deviceHash }: Pick<NewCliCode, 'deviceHash'>, session = world.session()) =>
      world.store.redeemCliCode({ deviceHash, session, now: world.now });

    /** A code that a new account's session has allowed. */
    async function allowed() {
      const { wallet, session } = await signedIn();
      const code = await world.savedCliCode();
      expect(await decide(code, session, 'allow')).toMatchObject({ name: code.name });
      return { wallet, session, code };
    }

    it('shows what asks, and opens a session of its own for the account that allows it', async () => {
      const { wallet, session: maker } = await signedIn();
      const code = await world.savedCliCode();
      const { name, createdAt, expiresAt } = code;

      expect(await decide(code, maker)).toEqual({ name, createdAt, expiresAt });
      expect(await redeem(code)).toBe('pending');
      expect(await decide(code, maker, 'allow')).toEqual({ name, createdAt, expiresAt });
      const session = world.session();
      expect(await redeem(code, session)).toEqual({ wallet });

      await world.store.revokeSession(maker.tokenHash);
      const found = await world.store.authenticateSession(session.tokenHash, false, world.now);
      expect(found?.session).toMatchObject({ id: session.id, wallet });
      expect(await world.store.listSessions(wallet, world.now, 10, null)).toEqual([
        expect.objectContaining({ id: session.id, signedInWith: 'cli_code' }),
      ]);
    });

    it('is redeemed once, of 20 concurrent tries', async () => {
      const { wallet, code } = await allowed();

      const results = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));

      expect(results.filter((result) => result !== 'unknown')).toEqual([{ wallet }]);
    });

    it('is allowed by one session, of many that try', async () => {
      const code = await world.savedCliCode();
      const makers = [];
      for (let i = 0; i < 5; i += 1) makers.push(await signedIn());

      const results = await Promise.all(
        makers.map(({ session }) => decide(code, session, 'allow')),
      );

      const winner = results.findIndex((result) => result !== 'unknown');
      expect(results.filter((result) => result === 'unknown')).toHaveLength(4);
      expect(await redeem(code)).toEqual({ wallet: makers[winner]?.wallet });
    });

    it('is gone once it is refused', async () => {
      const { session } = await signedIn();
      const code = await world.savedCliCode();

      expect(await decide(code, session, 'refuse')).toMatchObject({ name: code.name });

      expect(await redeem(code)).toBe('unknown');
      expect(await decide(code, session, 'allow')).toBe('unknown');
    });

    it('ends at its time, to the millisecond, decided or not', async () => {
      const { session } = await signedIn();
      const [last, late] = [await allowed(), await allowed()];
      const undecided = await world.savedCliCode();

      world.clock.advance(59_999);
      expect(await redeem(last.code)).toEqual({ wallet: last.wallet });
      expect(await decide(undecided, session)).toMatchObject({ name: undecided.name });
      world.clock.advance(1);
      expect(await redeem(late.code)).toBe('unknown');
      expect(await decide(undecided, session, 'allow')).toBe('unknown');
    });

    it('ends with the session that allowed it', async () => {
      const { session, code } = await allowed();

      await world.store.revokeSession(session.tokenHash);

      expect(await redeem(code)).toBe('unknown');
    });

    it('is decided neither by a session that has ended, nor by one that a code opened', async () => {
      const { session: ended } = await signedIn();
      await world.store.revokeSession(ended.tokenHash);
      const byCode = world.session();
      await redeem((await allowed()).code, byCode);
      const code = await world.savedCliCode();

      expect(await decide(code, ended, 'allow')).toBe('session_ended');
      expect(await decide(code, byCode, 'allow')).toBe('not_by_wallet');
      expect(await redeem(code)).toBe('pending');
    });

    it('cannot be guessed: a session enters at most 10 wrong ones, many at once too', async () => {
      const { wallet, session } = await signedIn();
      const code = await world.savedCliCode();
      const guess = (i: number) => decide({ userHash: sha256Hex(`guess ${i}`) }, session, 'allow');

      const results = await Promise.all(Array.from({ length: 30 }, (_, i) => guess(i)));

      expect(results.filter((result) => result === 'unknown')).toHaveLength(10);
      expect(results.filter((result) => result === 'too_many_wrong')).toHaveLength(20);
      expect(await decide(code, session, 'allow')).toBe('too_many_wrong');
      const { session: second } = await signedIn(wallet);
      expect(await decide(code, second, 'allow')).toMatchObject({ name: code.name });
    });

    it('is not the device code to a person, nor the user code to a machine', async () => {
      const { session } = await signedIn();
      const { deviceHash, userHash } = await world.savedCliCode();

      expect(await decide({ userHash: deviceHash }, session, 'allow')).toBe('unknown');
      expect(await redeem({ deviceHash: userHash })).toBe('unknown');
    });

    it('is one of at most 50 of its source', async () => {
      for (let i = 0; i < limits.openCliCodesOfSource; i += 1) {
        expect((await world.saveCliCode(source)).saved).toBe(true);
      }

      expect((await world.saveCliCode(source)).saved).toBe(false);
      expect((await world.saveCliCode()).saved).toBe(true);
    });

    it('is one of at most 1000: the next displaces the oldest of the source with the most', async () => {
      const oldest = await world.saveCliCode(source);
      world.clock.advance(1);
      await world.saveCliCode(source);
      const others = Array.from({ length: limits.openCliCodes - 2 }, () => world.saveCliCode());
      const [other] = await Promise.all(others);

      const next = await world.saveCliCode();

      const { session } = await signedIn();
      const look = ({ code }: typeof next) =>
        world.store.decideCliCode({
          userHash: code.userHash,
          decision: undefined,
          sessionId: session.id,
          now: world.now,
        });
      expect(await look(next)).toMatchObject({ name: 'robot-lab' });
      expect(await look(other ?? next)).toMatchObject({ name: 'robot-lab' });
      expect(await look(oldest)).toBe('unknown');
    });

    it('is displaced by age, not by name, where no source has more than others', async () => {
      const oldest = await world.saveCliCode('z');
      world.clock.advance(1);
      const first = await world.saveCliCode('a');
      const others = Array.from({ length: limits.openCliCodes - 2 }, () => world.saveCliCode());
      await Promise.all(others);

      await world.saveCliCode();

      const { session } = await signedIn();
      const look = ({ code }: typeof first) => decide(code, session);
      expect(await look(first)).toMatchObject({ name: 'robot-lab' });
      expect(await look(oldest)).toBe('unknown');
    });
  });
}
