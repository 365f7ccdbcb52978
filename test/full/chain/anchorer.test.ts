import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { waitFor } from '../../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});

afterEach(() => rig.closeSound());

const pending = (count: number) => rig.pending(count);

const degradedBy = (reason: string) =>
  waitFor(`degraded: ${reason}`, async () => (await rig.degraded()).includes(reason));

const wellAgain = () => waitFor('no degradation', async () => (await rig.degraded()).length === 0);

describe('when the chain misbehaves', () => {
  it.each([
    ['ends every connection', () => rig.proxy.cut()],
    ['answers HTTP 500', () => rig.proxy.fail(500)],
    ['hangs', () => rig.proxy.hang()],
  ])('a node that %s causes no loss and is used again by itself', async (_what, misbehave) => {
    rig.start();
    const before = await rig.queue();
    await pending(1);
    misbehave();
    const meanwhile = await rig.queue(2);
    await degradedBy('chain_unreachable');
    await rig.node.mine();

    rig.proxy.restore();
    await rig.verified(before);
    await pending(1);
    await rig.node.mine();
    await rig.verified(meanwhile);

    await wellAgain();
    expect(await rig.minedAnchors()).toHaveLength(2);
    expect(rig.log.join('')).not.toContain(new URL(rig.proxy.url).host);
  });
});

describe('two anchorers of one account', () => {
  it('work one after the other', async () => {
    const first = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    rig.start();
    await waitFor('the second to wait', () => rig.log.join('').includes('another process anchors'));
    await first.drain();

    const ids = await rig.queue();
    await pending(1);
    await rig.node.mine();

    await rig.verified(ids);
  });
});
