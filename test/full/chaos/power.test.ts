/** A short power-cut campaign for each program. `npm run campaign:power` is the long one. */
import { afterAll, describe, expect, it } from 'vitest';
import { runPowerCampaign, textOfFailure } from '../../chaos/power/campaign.ts';
import { killAgents } from '../../support/agent-process.ts';

afterAll(killAgents);

const options = { seed: 'short', cuts: 10, partMs: 1_500 };

describe.skipIf(process.platform !== 'linux')('a power cut', () => {
  it.each(['server', 'agent'] as const)(
    'loses nothing that the %s acknowledged',
    async (program) => {
      const report = await runPowerCampaign(program, { ...options, forgetSyncs: false });

      expect(report.failures.map(textOfFailure)).toEqual([]);
      expect(report).toMatchObject({ cuts: 10, lost: 0, corrupt: 0 });
      expect(report.checked).toBeGreaterThan(0);
      expect(report.control?.found).toBeGreaterThan(0);
    },
  );
});
