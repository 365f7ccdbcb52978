import { afterAll, describe, expect, it } from 'vitest';
import { runCampaign } from '../../chaos/campaign.ts';
import { faultPoints } from '../../chaos/fault-points.ts';
import { performOutage } from '../../chaos/outage.ts';
import { killServers } from '../../support/server-process.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';

/** Ends what hangs; how long it takes says nothing. */
const TIMEOUT_MS = 900_000;

afterAll(killServers);

describe('a server killed repeatedly while robots work', { timeout: TIMEOUT_MS }, () => {
  it('anchors each proof once and loses nothing, wherever it is killed', async () => {
    const { kills, broken } = await runCampaign({
      seed: 'short',
      from: 0,
      runs: 2,
      kills: 15,
      rpcFaults: false,
      deepestReorg: 0,
      postgresUrl: null,
    });

    expect(broken).toEqual([]);
    expect(kills.total).toBeGreaterThanOrEqual(30);
    const visited = [...kills].filter(([point, times]) => faultPoints.has(point) && times > 0);
    expect(visited.length).toBeGreaterThanOrEqual(15);
  });

  it('anchors each proof once even with faulty providers and a faulty chain', async () => {
    const { kills, faults, broken } = await runCampaign({
      seed: 'short',
      from: 0,
      runs: 2,
      kills: 6,
      rpcFaults: true,
      deepestReorg: 5,
      postgresUrl: null,
    });

    expect(broken).toEqual([]);
    expect(kills.total).toBeGreaterThanOrEqual(10);
    expect(faults.total).toBeGreaterThan(0);
  });

  it('anchors each proof once on PostgreSQL', async () => {
    const { kills, broken } = await runCampaign({
      seed: 'short',
      from: 0,
      runs: 1,
      kills: 12,
      rpcFaults: false,
      deepestReorg: 0,
      postgresUrl: (await sharedPostgres()).url,
    });

    expect(broken).toEqual([]);
    expect(kills.total).toBeGreaterThanOrEqual(10);
  });
});

describe('a server without any provider for a while', { timeout: TIMEOUT_MS }, () => {
  it('answers every robot, and anchors everything by itself once they are back', async () => {
    const { violations, proofs_in_outage } = await performOutage({
      seed: 'short',
      seconds: 8,
      postgresUrl: null,
    });

    expect(violations).toEqual([]);
    expect(proofs_in_outage).toBeGreaterThan(0);
  });
});
