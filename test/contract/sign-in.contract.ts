import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { Challenge } from '../../src/server/ports/sign-in.ts';
import { signupGrant } from '../support/signup-grant.ts';
import { newWallet, type OpenStore, source, World } from './world.ts';

const DAY_MS = 24 * 60 * 60_000;

export function signInContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  function signIn(challenge: Challenge, changes: Parameters<World['signIn']>[1] = {}) {
    return world.store.signIn(world.signIn(challenge, changes));
  }

  const grant = signupGrant(3, 1000n);
  const anchorsOf = async (wallet: string) =>
    (await world.store.getBalance(wallet))?.anchorQuota ?? null;

  describe('challenges', () => {
    it('are open until they are spent', async () => {
      const [spent, other] = [world.challenge(newWallet()), world.challenge(newWallet())];

      expect(await world.store.isChallengeOpen(spent)).toBe(true);
      expect(await world.store.spendChallenge(spent)).toBe(true);
      expect(await world.store.isChallengeOpen(spent)).toBe(false);
      expect(await world.store.isChallengeOpen(other)).toBe(true);
    });

    it('are open until they expire, to the millisecond', async () => {
      const challenge = world.challenge(newWallet());
      world.clock.advance(challenge.expiresAt - 1 - world.now);

      expect(await world.store.isChallengeOpen(challenge)).toBe(true);
      world.clock.advance(1);
      expect(await world.store.isChallengeOpen(challenge)).toBe(false);
    });

    it('are kept for wallet and source, newest first', async () => {
      const wallet = newWallet();
      const saved = [];
      for (let i = 0; i < 3; i += 1) saved.push(await world.savedChallenge(wallet));
      await world.savedChallenge(newWallet());
      await world.store.saveChallenge(world.challenge(wallet), '192.0.2.2');

      expect(await world.store.openChallenges(wallet, source)).toEqual(saved.toReversed());
    });

    it('of another source displace none of the owner, who has the newest 60', async () => {
      const wallet = newWallet();
      const owner: Challenge[] = [];
      for (let i = 0; i < 61; i += 1) owner.push(await world.savedChallenge(wallet));
      for (let i = 0; i < 61; i += 1) {
        await world.store.saveChallenge(world.challenge(wallet), '192.0.2.2');
      }

      expect(await world.store.openChallenges(wallet, source)).toEqual(owner.slice(1).toReversed());
    });

    it('are not found once they have expired', async () => {
      const { wallet, expiresAt } = await world.savedChallenge(newWallet());

      world.clock.advance(expiresAt - 1 - world.now);
      expect(await world.store.openChallenges(wallet, source)).toHaveLength(1);
      world.clock.advance(1);
      expect(await world.store.openChallenges(wallet, source)).toEqual([]);
    });

    it('beyond the limit of all displace the oldest', async () => {
      const small = await World.open(open, { maxChallenges: 20 });
      try {
        const saved = [];
        for (let i = 0; i < 22; i += 1) saved.push(await small.savedChallenge(newWallet()));

        const found = await Promise.all(
          saved.map(({ wallet }) => small.store.openChallenges(wallet, source)),
        );

        expect(found.map((challenges) => challenges.length)).toEqual([0, 0, ...Array(20).fill(1)]);
      } finally {
        await small.close();
      }
    });

    it('that were spent displace none', async () => {
      const small = await World.open(open, { maxChallenges: 20 });
      try {
        const oldest = await small.savedChallenge(newWallet());
        for (let i = 0; i < 30; i += 1) {
          await small.store.signIn(small.signIn(await small.savedChallenge(newWallet())));
        }

        expect(await small.store.openChallenges(oldest.wallet, source)).toEqual([oldest]);
      } finally {
        await small.close();
      }
    });

    it('are authenticated by a key that stays until the database is restored', async () => {
      const key = await world.store.challengeKey();
      await world.reopen();
      expect(await world.store.challengeKey()).toEqual(key);

      await world.store.holdQueue(world.now);

      const replaced = await world.store.challengeKey();
      expect(replaced).toHaveLength(32);
      expect(replaced).not.toEqual(key);
    });
  });

  describe('requests for challenges', () => {
    const count = async (wallet: string, device: string | null = null) =>
      (await world.store.countChallenge(wallet, device)).count;

    it('are counted by wallet, a refused one not at all', async () => {
      const wallet = newWallet();
      const counts = [];
      for (let i = 0; i <= limits.challengesPerWindow; i += 1) counts.push(await count(wallet));

      expect(counts[0]).toEqual({ allowed: true, limit: 60, remaining: 59, resetMs: 60_000 });
      expect(counts[59]).toMatchObject({ allowed: true, remaining: 0 });
      expect(counts[60]).toMatchObject({ allowed: false, remaining: 0 });
      expect(await count(newWallet())).toMatchObject({ remaining: 59 });
    });

    it('of a device of the wallet are counted apart', async () => {
      const wallet = newWallet();
      for (let i = 0; i < limits.challengesPerWindow; i += 1) await count(wallet);

      expect(await count(wallet)).toMatchObject({ allowed: false });
      expect(await count(wallet, 'a')).toMatchObject({ allowed: true, remaining: 59 });
      expect(await count(wallet, 'b')).toMatchObject({ allowed: true, remaining: 59 });
    });

    it('are counted from zero when the minute of the clock changes', async () => {
      const wallet = newWallet();
      world.clock.advance(59_000);
      expect(await count(wallet)).toMatchObject({ resetMs: 1000 });

      world.clock.advance(1000);

      expect(await count(wallet)).toMatchObject({ remaining: 59, resetMs: 60_000 });
    });

    it('go on being counted where they were after a restart', async () => {
      const wallet = newWallet();
      await count(wallet);

      await world.reopen();

      expect(await count(wallet)).toMatchObject({ remaining: 58 });
    });
  });

  describe('signing in', () => {
    it('opens the account with its grant in the ledger', async () => {
      const wallet = newWallet();

      expect(await signIn(world.challenge(wallet), { grant })).toBe('signed_in');

      expect(await world.store.getBalance(wallet)).toEqual({
        wallet,
        anchorQuota: 3,
        gasCreditWei: 1000n,
      });
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('grants once, at the first sign-in that qualifies', async () => {
      const wallet = newWallet();
      const balances = [];
      for (const offered of [null, grant, grant]) {
        await signIn(world.challenge(wallet), { grant: offered });
        balances.push(await anchorsOf(wallet));
      }

      expect(balances).toEqual([0, 3, 3]);
    });

    it('grants only after the delay since the first sign-in that qualified', async () => {
      const wallet = newWallet();
      const balances = [];
      for (const wait of [0, DAY_MS - 1, 1]) {
        world.clock.advance(wait);
        await signIn(world.challenge(wallet), { grant: { ...grant, delayMs: DAY_MS } });
        balances.push(await anchorsOf(wallet));
      }

      expect(balances).toEqual([0, 0, 3]);
    });

    it('grants at most the daily limit to all, and the rest another day', async () => {
      const wallets = Array.from({ length: 4 }, newWallet);
      const limited = { ...grant, anchorsPerDay: 7 };
      for (const wallet of wallets) await signIn(world.challenge(wallet), { grant: limited });
      const first = await Promise.all(wallets.map(anchorsOf));
      world.clock.advance(DAY_MS);
      for (const wallet of wallets) await signIn(world.challenge(wallet), { grant: limited });

      expect(first).toEqual([3, 3, 0, 0]);
      expect(await Promise.all(wallets.map(anchorsOf))).toEqual([3, 3, 3, 3]);
    });

    it('spends the challenge', async () => {
      const challenge = await world.savedChallenge(newWallet());
      await signIn(challenge);

      expect(await signIn(challenge)).toBe('challenge_spent');
      expect(await world.store.openChallenges(challenge.wallet, source)).toEqual([]);
    });

    it('takes no challenge that has expired', async () => {
      const challenge = world.challenge(newWallet());
      world.clock.advance(challenge.expiresAt - world.now);

      expect(await signIn(challenge)).toBe('challenge_spent');
    });

    it('opens no account where it may not, and the challenge stays open', async () => {
      const challenge = await world.savedChallenge(newWallet());
      const { wallet } = challenge;

      expect(await signIn(challenge, { mayOpen: false })).toBe('signup_refused');
      expect(await world.store.getBalance(wallet)).toBeNull();

      await world.grant(wallet, 1, 0n);
      expect(await signIn(challenge, { mayOpen: false })).toBe('signed_in');
    });

    it('lets one of 50 concurrent sign-ins with one challenge through', async () => {
      const challenge = world.challenge(newWallet());
      const sessions = Array.from({ length: 50 }, () => world.session());

      const outcomes = await Promise.all(sessions.map((session) => signIn(challenge, { session })));

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
      const wallet = newWallet();
      const session = world.session();
      await signIn(world.challenge(wallet), { session });
      return { wallet, session };
    }

    it('finds a live one by its token', async () => {
      const { wallet, session } = await signedIn();

      const found = await world.store.authenticateSession(session.tokenHash, false, world.now);

      const { id, createdAt, expiresAt } = session;
      expect(found?.session).toMatchObject({ id, wallet, createdAt, expiresAt });
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
      await signIn(world.challenge(wallet), { session: other });
      await world.store.authenticateSession(session.tokenHash, true, world.now);

      const found = await world.store.authenticateSession(other.tokenHash, true, world.now);

      expect(found?.count.remaining).toBe(298);
    });
  });
}
