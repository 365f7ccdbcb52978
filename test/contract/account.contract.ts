import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliCodeAttempt, NewCliCode, NewSession } from '../../src/server/ports/sign-in.ts';
import { newWallet, type OpenStore, reservedWei, sha256Hex, World } from './world.ts';

export function accountContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  async function signedIn(wallet = newWallet(), session = world.session()) {
    const { nonce } = await world.savedChallenge(wallet);
    const signup = { anchors: 0, gasWei: 0n };
    await world.store.signIn({ nonce, wallet, session, signup, now: world.now });
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
      await world.store.refuseQueuedProofs(lease, [refused?.id ?? ''], 'no funds', world.now);
      await world.settled(lease);

      const entries = await world.store.listLedger(wallet, 10, null);

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

      const first = await world.store.listLedger(wallet, 3, null);
      const second = await world.store.listLedger(wallet, 3, first.at(-1)?.seq ?? null);

      expect([...first, ...second].map(({ anchors }) => anchors)).toEqual([3, 2, 1, 0, 1]);
      expect(await world.store.listLedger(newWallet(), 3, null)).toEqual([]);
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
      expect(await list(world.now)).toEqual([
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
      const code = { codeHash: sha256Hex('last'), challenge: 'c'.repeat(43) };
      const [createdAt, expiresAt] = [world.now, world.now + 60_000];
      await world.store.saveCliCode({ ...code, sessionId: maker.id, createdAt, expiresAt });
      newest.push(world.session());
      const session = newest.at(-1) ?? oldest;
      await world.store.redeemCliCode({ ...code, session, now: world.now });

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
    const challenge = 'c'.repeat(43);

    async function saved(changes: Partial<NewCliCode> = {}) {
      const { wallet, session } = await signedIn();
      const code = {
        codeHash: sha256Hex(session.id),
        challenge,
        sessionId: session.id,
        createdAt: world.now,
        expiresAt: world.now + 60_000,
        ...changes,
      };
      expect(await world.store.saveCliCode(code)).toBe('saved');
      return { wallet, session, code };
    }

    function redeem({ codeHash }: NewCliCode, changes: Partial<CliCodeAttempt> = {}) {
      const session = world.session();
      return world.store.redeemCliCode({
        codeHash,
        challenge,
        session,
        now: world.now,
        ...changes,
      });
    }

    it('opens a session of its own for the account', async () => {
      const { wallet, session: maker, code } = await saved();
      const session = world.session();

      expect(await redeem(code, { session })).toEqual({ wallet });

      await world.store.revokeSession(maker.tokenHash);
      const found = await world.store.authenticateSession(session.tokenHash, false, world.now);
      expect(found?.session).toMatchObject({ id: session.id, wallet });
      expect(await world.store.listSessions(wallet, world.now, 10, null)).toEqual([
        expect.objectContaining({ id: session.id, signedInWith: 'cli_code' }),
      ]);
    });

    it('is taken once, of 20 concurrent tries', async () => {
      const { wallet, code } = await saved();

      const results = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));

      expect(results.filter((result) => result !== null)).toEqual([{ wallet }]);
    });

    it('is spent by a wrong challenge, and opens nothing', async () => {
      const { wallet, code } = await saved();

      expect(await redeem(code, { challenge: 'd'.repeat(43) })).toBeNull();

      expect(await redeem(code)).toBeNull();
      expect(await world.store.listSessions(wallet, world.now, 10, null)).toHaveLength(1);
    });

    it('ends at its time, to the millisecond', async () => {
      const [last, late] = [await saved(), await saved()];

      world.clock.advance(59_999);
      expect(await redeem(last.code)).not.toBeNull();
      world.clock.advance(1);
      expect(await redeem(late.code)).toBeNull();
    });

    it('ends with the session that made it', async () => {
      const { session, code } = await saved();

      await world.store.revokeSession(session.tokenHash);

      expect(await redeem(code)).toBeNull();
    });

    it('is not made by a session that has ended', async () => {
      const { session } = await signedIn();
      await world.store.revokeSession(session.tokenHash);
      const code = {
        codeHash: sha256Hex('x'),
        challenge,
        sessionId: session.id,
        createdAt: world.now,
        expiresAt: world.now + 60_000,
      };

      expect(await world.store.saveCliCode(code)).toBe('session_ended');
      expect(await redeem(code)).toBeNull();
    });

    it('is not made by a session that a code opened', async () => {
      const { code } = await saved();
      const session = world.session();
      await redeem(code, { session });
      const next = { ...code, codeHash: sha256Hex('next'), sessionId: session.id };

      expect(await world.store.saveCliCode(next)).toBe('not_by_wallet');
      expect(await redeem(next)).toBeNull();
    });

    it('unknown opens nothing', async () => {
      const { code } = await saved();

      expect(await redeem({ ...code, codeHash: sha256Hex('other') })).toBeNull();
      expect(await redeem(code)).not.toBeNull();
    });
  });
}
