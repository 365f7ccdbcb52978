import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { Actor } from '../../src/server/ports/account.ts';
import { type OpenStore, sha256Hex, World } from './world.ts';

/** The audit log and account tokens, beyond what test/http shows. */
export function auditLogContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const by = (): Actor => ({ actor: 'session', actor_name: null, source: null, at: world.now });
  const kindsOf = async (wallet: string) =>
    (await world.store.listAuditLog(wallet, 100, null)).map(({ kind }) => kind);
  const session = async (wallet: string): Promise<string> => {
    const opened = world.signIn(await world.savedChallenge(wallet));
    await world.store.signIn(opened);
    return opened.session.id;
  };
  const token = (wallet: string, issuer: string, members = {}) => ({
    issuer,
    id: randomUUID(),
    tokenHash: sha256Hex(randomUUID()),
    wallet,
    name: 'ci',
    scope: 'read' as const,
    createdAt: world.now,
    expiresAt: world.now + 1000,
    ...members,
  });

  it('records nothing without an actor', async () => {
    const robot = await world.robot();
    await world.store.replaceKey(robot.id, robot.wallet, null, world.now);
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    expect(await kindsOf(robot.wallet)).toEqual([]);
  });

  it('records no move of a robot to its current fleet', async () => {
    const { wallet, id } = await world.robot();
    const fleet = await world.fleet(wallet);
    const assign = () => world.store.assignRobots(wallet, [id], fleet.id, world.now, by());
    await assign();
    await assign();

    expect(await kindsOf(wallet)).toEqual(['robots_moved']);
  });

  it('keeps each of many simultaneous entries, in order', async () => {
    const { wallet, id } = await world.robot();
    for (let i = 0; i < 3; i += 1) {
      await world.store.replaceKey(id, wallet, sha256Hex(`key ${i}`), world.now, by());
    }
    await Promise.all(
      Array.from({ length: 20 }, () => world.store.countFailedSignIn(wallet, by())),
    );

    const [failed, ...earlier] = await world.store.listAuditLog(wallet, 100, null);
    expect(failed).toMatchObject({ kind: 'sign_in_failed', count: 20 });
    expect(earlier.map(({ kind }) => kind)).toEqual(Array(3).fill('key_rotated'));
    await world.reopen();
    expect(await kindsOf(wallet)).toHaveLength(4);
  });

  it('deletes the oldest entries in small steps, and no others', async () => {
    const robot = await world.robot();
    const rotate = () =>
      world.store.replaceKey(robot.id, robot.wallet, sha256Hex('key'), world.now, by());
    for (let i = 0; i < 3; i += 1) await rotate();
    world.clock.advance(10);
    await rotate();

    expect(await world.store.deleteAuditLog(world.now, 2)).toBe(true);
    expect(await kindsOf(robot.wallet)).toHaveLength(2);
    expect(await world.store.deleteAuditLog(world.now, 2)).toBe(false);
    expect(await kindsOf(robot.wallet)).toHaveLength(1);
  });

  it('creates no token for a session that ended after the call began', async () => {
    const { wallet } = await world.robot();
    const issuer = await session(wallet);
    await world.store.endSession(wallet, issuer);

    const made = await world.store.createToken(token(wallet, issuer), by());
    expect(made).toBe('session_ended');
  });

  it('creates no more simultaneous tokens than the limit', async () => {
    const { wallet } = await world.robot();
    const issuer = await session(wallet);
    const made = await Promise.all(
      Array.from({ length: limits.tokensPerAccount + 5 }, () =>
        world.store.createToken(token(wallet, issuer), by()),
      ),
    );

    expect(made.filter((outcome) => outcome === 'created')).toHaveLength(limits.tokensPerAccount);
    expect(await kindsOf(wallet)).toHaveLength(limits.tokensPerAccount);
  });

  it('records the last use of a token at most once a minute, and never an earlier one', async () => {
    const { wallet } = await world.robot();
    const made = token(wallet, await session(wallet), {
      expiresAt: world.now + 10 * limits.windowMs,
    });
    await world.store.createToken(made, by());
    const at = world.now;
    await world.store.noteTokenUse(made.id, at);
    await world.store.noteTokenUse(made.id, at + limits.windowMs - 1);
    await world.store.noteTokenUse(made.id, at - 1);

    const found = await world.store.authenticateSession(made.tokenHash, false, at);
    expect(found?.session).toMatchObject({ scope: 'read', name: 'ci', lastUsedAt: at });
  });
}
