import { afterAll, expect, it } from 'vitest';
import { performInstances } from '../../chaos/instances.ts';
import { startBalancer } from '../../support/balancer.ts';
import { killServers } from '../../support/server-process.ts';

afterAll(killServers);

it('three instances on one PostgreSQL lose and duplicate nothing while they are killed one after another', {
  timeout: 400_000,
}, async () => {
  const report = await performInstances({
    seed: 'short',
    seconds: 20,
    restMs: 1_500,
    faults: { kill: 5, pause: 0, database: 1 },
    balance: startBalancer,
  });

  expect(report.violations).toEqual([]);
  expect(report.faults.kill).toBeGreaterThan(0);
  expect(report.proofs).toBeGreaterThan(20);
  expect(report.samples).toBeGreaterThan(100);
});
