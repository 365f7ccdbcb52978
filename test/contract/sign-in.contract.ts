import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { newWallet, type OpenStore, World } from './world.ts';

const signup = { anchors: 3, gasWei: 1000n };

export function signInContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  async function signIn(wallet: string, nonce: string, session = world.session()) {
    return world.store.signIn({ nonce, wallet, session, signup, now: world.now });
  }

  describe('challenges', () => {
    it('finds one by nonce and wallet', async () => {
      const challenge = await world.savedChallenge(newWallet());
      const { nonce, wallet } = challenge;

      expect(await world.store.openChallenges({ nonce, wallet }, world.now)).toEqual([challenge]);
      const other = { nonce, wallet: newWallet() };
      expect(await world.store.openChallenges(other, world.now)).toEqual([]);
    });

    it('lists those of a wallet, newest first, up to the limit', async () => {
      const wallet = newWallet();
      const saved = [];
      for (let i = 0; i < 3; i += 1) saved.push(await world.savedChallenge(wallet));
      await world.savedChallenge(newWallet());

      const found = await world.store.openChallenges({ wallet, limit: 2 }, world.now);

      expect(found).toEqual([saved[2], saved[1]]);
    });

    it('does not find one that has expired', async () => {
      const { nonce, wallet, expiresAt } = await world.savedChallenge(newWallet());

      expect(await world.store.openChallenges({ nonce, wallet }, expiresAt - 1)).toHaveLength(1);
      expect(await world.store.openChallenges({ nonce, wallet }, expiresAt)).toEqual([]);
      expect(await world.store.openChallenges({ wallet, limit: 8 }, expiresAt)).toEqual([]);
    });

    it('forgets the oldest beyond the limit of open ones', async () => {
      const small = await World.open(open, { maxChallenges: 20 });
      try {
        const saved = [];
        for (let i = 0; i < 22; i += 1) saved.push(await small.savedChallenge(newWallet()));

        const found = await Promise.all(
          saved.map((challenge) => small.store.openChallenges(challenge, small.now)),
        );

        expect(found.map((challenges) => challenges.length)).toEqual([0, 0, ...Array(20).fill(1)]);
      } finally {
        await small.close();
      }
    });

    it('forgets none that is open for those that were spent', async () => {
      const small = await World.open(open, { maxChallenges: 20 });
      try {
        const oldest = await small.savedChallenge(newWallet());
        for (let i = 0; i < 30; i += 1) {
          const { nonce, wallet } = await small.savedChallenge(newWallet());
          const session = small.session();
          await small.store.signIn({ nonce, wallet, session, signup, now: small.now });
        }

        expect(await small.store.openChallenges(oldest, small.now)).toEqual([oldest]);
      } finally {
        await small.close();
      }
    });

    it('counts requests by wallet, a refused one not at all', async () => {
      const wallet = newWallet();
      const counts = [];
      for (let i = 0; i <= limits.challengesPerWindow; i += 1) {
        counts.push(await world.store.countChallenge(wallet));
      }

      expect(counts[0]).toEqual({ allowed: true, limit: 60, remaining: 59, resetMs: 60_000 });
      expect(counts[59]).toMatchObject({ allowed: true, remaining: 0 });
      expect(counts[60]).toMatchObject({ allowed: false, remaining: 0 });
      expect(await world.store.countChallenge(newWallet())).toMatchObject({ remaining: 59 });
    });

    it('counts anew when the minute of the clock changes', async () => {
      const wallet = newWallet();
      world.clock.advance(59_000);
      expect(await world.store.countChallenge(wallet)).toMatchObject({ resetMs: 1000 });

      world.clock.advance(1000);

      expect(await world.store.countChallenge(wallet)).toMatchObject({
        remaining: 59,
        resetMs: 60_000,
      });
    });

    it('goes on counting where it was after a restart', async () => {
      const wallet = newWallet();
      await world.store.countChallenge(wallet);

      await world.reopen();

      expect(await world.store.countChallenge(wallet)).toMatchObject({ remaining: 58 });
    });
  });

  describe('signing in', () => {
    it('opens the account with its grant in the ledger', async () => {
      const wallet = newWallet();
      const { nonce } = await world.savedChallenge(wallet);

      expect(await signIn(wallet, nonce)).toBe('signed_in');

      expect(await world.store.getBalance(wallet)).toEqual({
        wallet,
        anchorQuota: 3,
        gasCreditWei: 1000n,
      });
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('grants nothing to an account that is already open', async () => {
      const wallet = newWallet();
      for (let i = 0; i < 2; i += 1) {
        await signIn(wallet, (await world.savedChallenge(wallet)).nonce);
      }

      expect(await world.store.getBalance(wallet)).toMatchObject({ anchorQuota: 3 });
    });

    it('spends the challenge', async () => {
      const wallet = newWallet();
      const { nonce } = await world.savedChallenge(wallet);
      await signIn(wallet, nonce);

      expect(await signIn(wallet, nonce)).toBe('challenge_spent');
      expect(await world.store.openChallenges({ nonce, wallet }, world.now)).toEqual([]);
    });

    it('takes no challenge of another wallet and leaves it open', async () => {
      const { nonce, wallet } = await world.savedChallenge(newWallet());

      expect(await signIn(newWallet(), nonce)).toBe('challenge_spent');
      expect(await signIn(wallet, nonce)).toBe('signed_in');
    });

    it('takes no challenge that has expired', async () => {
      const { nonce, wallet, expiresAt } = await world.savedChallenge(newWallet());
      world.clock.advance(expiresAt - world.now);

      expect(await signIn(wallet, nonce)).toBe('challenge_spent');
    });

    it('refuses a new account where signup is null, and the challenge stays open', async () => {
      const { nonce, wallet } = await world.savedChallenge(newWallet());
      const attempt = { nonce, wallet, session: world.session(), signup: null, now: world.now };

      expect(await world.store.signIn(attempt)).toBe('signup_refused');
      expect(await world.store.getBalance(wallet)).toBeNull();

      await world.grant(wallet, 1, 0n);
      expect(await world.store.signIn(attempt)).toBe('signed_in');
    });

    it('lets one of 50 concurrent sign-ins with one challenge through', async () => {
      const { nonce, wallet } = await world.savedChallenge(newWallet());
      const sessions = Array.from({ length: 50 }, () => world.session());

      const outcomes = await Promise.all(sessions.map((session) => signIn(wallet, nonce, session)));

      expect(outcomes.filter((outcome) => outcome === 'signed_in')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'challenge_spent')).toHaveLength(49);
      const found = await Promise.all(
        sessions.map(({ tokenHash }) =>
          world.store.authenticateSession(tokenHash, false, world.now),
        ),
      );
      expect(found.filter((session) => session !== null)).toHaveLength(1);
    });
  });

  describe('sessions', () => {
    async function signedIn() {
      const { nonce, wallet } = await world.savedChallenge(newWallet());
      const session = world.session();
      await signIn(wallet, nonce, session);
      return { wallet, session };
    }

    it('finds a live one by its token', async () => {
      const { wallet, session } = await signedIn();

      const found = await world.store.authenticateSession(session.tokenHash, false, world.now);

      const { id, createdAt, expiresAt } = session;
      expect(found?.session).toEqual({ id, wallet, createdAt, expiresAt });
    });

    it('does not find an unknown or expired one', async () => {
      const { session } = await signedIn();
      const { tokenHash, expiresAt } = session;

      expect(await world.store.authenticateSession('other', true, world.now)).toBeNull();
      expect(await world.store.authenticateSession(tokenHash, true, expiresAt)).toBeNull();
    });

    it('ends one at once, and ending it again is harmless', async () => {
      const { tokenHash } = (await signedIn()).session;

      await world.store.revokeSession(tokenHash);
      await world.store.revokeSession(tokenHash);

      expect(await world.store.authenticateSession(tokenHash, false, world.now)).toBeNull();
    });

    it('measures mutations of the account only when asked to, up to the limit', async () => {
      const { tokenHash } = (await signedIn()).session;
      const measure = async (counted: boolean) =>
        (await world.store.authenticateSession(tokenHash, counted, world.now))?.count;

      expect(await measure(false)).toMatchObject({ allowed: true, limit: 300, remaining: 300 });
      for (let i = 0; i < limits.accountMutationsPerWindow; i += 1) await measure(true);

      expect(await measure(true)).toMatchObject({ allowed: false, remaining: 0 });
      expect(await measure(false)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('measures all sessions of an account together', async () => {
      const { wallet, session } = await signedIn();
      const other = world.session();
      await signIn(wallet, (await world.savedChallenge(wallet)).nonce, other);
      await world.store.authenticateSession(session.tokenHash, true, world.now);

      const found = await world.store.authenticateSession(other.tokenHash, true, world.now);

      expect(found?.count.remaining).toBe(298);
    });
  });
}
