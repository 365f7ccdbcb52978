import { afterAll, expect, it } from 'vitest';
import { runAgentChaos } from '../../chaos/agent-run.ts';
import { killAgents } from '../../support/agent-process.ts';
import { killServers } from '../../support/server-process.ts';

afterAll(() => {
  killAgents();
  killServers();
});

/** Ends what hangs; how long it takes says nothing. */
const TIMEOUT_MS = 900_000;

it('keeps acknowledged records through kills of itself and of the service', {
  timeout: TIMEOUT_MS,
}, async () => {
  const report = await runAgentChaos({
    seed: 'short',
    kills: 35,
    pauseMs: 200,
    durableMs: Number.POSITIVE_INFINITY,
  });

  expect(report.violations).toEqual([]);
  expect(report.kills.agent).toBeGreaterThanOrEqual(30);
  expect(report.kills.service).toBeGreaterThan(0);
  expect(report.completions).toBeGreaterThan(0);
  expect(report.samples).toBeGreaterThan(0);
});
