import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});
afterEach(() => rig.closeSound());
const pending = (count: number) => rig.pending(count);
const leases = (count: number) =>
  waitFor(`${count} leases`, async () => (await rig.store.listAnchorAddresses()).length === count);

describe('several keys', () => {
  it('do not use the processor while one of them waits for a slow node', async () => {
    rig.start({ accounts: [0, 2], maxInFlight: 1, batchMax: 1, timeoutMs: 600_000 });
    await leases(2);
    const ids = await rig.queue(2);
    await pending(2);
    await rig.node.mine();
    await rig.verified(ids);
    let estimates = 0;
    let isHanging = false;
    rig.proxy.handle(async ({ calls, answer, forward }) => {
      const isSlow = calls.some(({ method, params }) => {
        const { data = '' } = (params[0] ?? {}) as { data?: string };
        return method === 'eth_estimateGas' && !data.endsWith('ff'.repeat(64));
      });
      isHanging ||= isSlow;
      if (calls.some(({ method }) => method === 'eth_estimateGas')) estimates += 1;
      if (!isSlow) answer(await forward(calls));
    });
    await rig.queue();
    await waitFor('the slow answer', () => isHanging);
    // Each round of an engine looks at the clock some times.
    const looks = vi.spyOn(performance, 'now');
    onTestFinished(() => looks.mockRestore());
    const before = estimates;

    await waitFor('estimates of the other', () => estimates >= before + 5);

    expect(looks.mock.calls.length).toBeLessThan(2_000);
  });
});
