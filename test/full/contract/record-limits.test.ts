import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/protocol/limits.ts';
import { openTemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { type OpenStore, World } from '../../contract/world.ts';
import { openTemporaryPostgres } from './temporary-postgres.ts';

/** More alerts and audit entries than an account may keep, which takes seconds to write. */
describe.each<[string, OpenStore]>([
  ['SQLite', openTemporarySqlite],
  ['PostgreSQL', openTemporaryPostgres],
])('the store on %s', (database, open) => {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  // The same statement on both databases; 20 000 commits take PostgreSQL 80 s.
  // Each of them reads 20 000 entries of an index: minutes while other tests run.
  const slow = { timeout: 600_000 };
  it.skipIf(database === 'PostgreSQL')(
    'keeps the newest entries of the audit log',
    slow,
    async () => {
      const { wallet } = await world.robot();
      const by = { actor: 'session', actor_name: null, source: null, at: world.now } as const;
      const changes = Array.from({ length: limits.auditLogEntries + 200 }, (_, n) => n + 1);
      for (let from = 0; from < changes.length; from += 200) {
        const some = changes.slice(from, from + 200).map((threshold) => {
          return world.store.saveAlertRule(wallet, { kind: 'battery_low', threshold }, by);
        });
        await Promise.all(some);
      }

      const kept = await world.store.listAuditLog(wallet, 2 * limits.auditLogEntries, null);
      expect(kept.length).toBe(limits.auditLogEntries);
      const details = kept.map(({ detail }) => detail);
      expect(details).not.toContain('battery_low: 1');
      expect(details).toContain(`battery_low: ${changes.length}`);
    },
  );

  it('keeps the newest alerts of an account that opens and closes too many', async () => {
    const { wallet } = await world.robot();
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20 };
    const robots = Array.from({ length: limits.alertsKept }, () => randomUUID());
    const all = robots.map((robot_id) => ({ ...firing, robot_id }));
    for (let i = 0; i < 2; i += 1) {
      await world.store.changeAlerts(all, [], world.now + i);
      const open = await world.store.listOpenAlerts('battery_low', [wallet]);
      await world.store.changeAlerts([], open.slice(0, -1), world.now + i);
    }

    const filter = { open: false, limit: 3 * limits.alertsKept, before: null };
    const kept = await world.store.listAlerts(wallet, filter);
    expect(kept.length).toBeLessThanOrEqual(limits.alertsKept + 1);
    expect(kept.filter(({ closed_at }) => closed_at === null)).toHaveLength(1);
  });

  it('lists every waiting proof, in pages', async () => {
    const { id: robot_id, wallet } = await world.robot();
    await world.grant(wallet, 1000, 10n ** 18n);
    await world.store.saveAlertRule(wallet, { kind: 'anchor_stuck', threshold: 10 });
    await world.lease();
    const tasks = await world.queued(robot_id, 501);
    const now = world.now + 600_000;
    const first = await world.store.listAnchors('anchor_stuck', now, null);
    const second = await world.store.listAnchors('anchor_stuck', now, first.last);

    const found = [...first.firing, ...second.firing];
    expect(found).toMatchObject(tasks.map(() => ({ wallet, robot_id, kind: 'anchor_stuck' })));
    expect([first.firing.length, second.last]).toEqual([500, null]);
  });
});
