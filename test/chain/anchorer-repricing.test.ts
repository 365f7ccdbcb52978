import { parseTransaction } from 'viem';
import { afterEach, beforeEach, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { type AnchoringRig, startAnchoringRig } from '../support/anchoring-rig.ts';
import { waitFor } from '../support/wait-for.ts';

let rig: AnchoringRig;

beforeEach(async () => {
  rig = await startAnchoringRig();
});

afterEach(() => rig.closeSound());

/** Prices an anchor as the Amsterdam fork does (EIP-2780, EIP-7976). `base`: gas of a transaction without data. */
function reprice(base = 12_000n) {
  const gasOf = (data: string) => base + 64n * BigInt((data.length - 2) / 2);
  rig.proxy.intercept(({ method, params }) => {
    if (method === 'eth_estimateGas') {
      return { result: `0x${gasOf((params[0] as { data: string }).data).toString(16)}` };
    }
    if (method !== 'eth_sendRawTransaction') return null;
    const { gas = 0n, data = '0x' } = parseTransaction(params[0] as Hex);
    if (gas >= gasOf(data)) return null;
    return { error: { code: -32000, message: 'intrinsic gas too low' } };
  });
}

async function anchorOne() {
  const ids = await rig.queue();
  await rig.pending(1);
  await rig.node.mine();
  await rig.verified(ids);
}

it('anchors before and after a fork that makes anchors cheaper, and after its reversal', async () => {
  rig.start();
  await anchorOne();
  reprice();
  await anchorOne();
  rig.proxy.restore();
  await anchorOne();
});

it('replaces an anchor whose gas limit a fork made too low', async () => {
  rig.start({ bumpAfterMs: 300 });
  await anchorOne();
  // The node still estimates by the old prices when the anchor is signed.
  rig.proxy.intercept(({ method }) =>
    method === 'eth_sendRawTransaction'
      ? { error: { code: -32000, message: 'intrinsic gas too low' } }
      : null,
  );
  const before = rig.proxy.asked.methods.length;
  const ids = await rig.queue();
  await waitFor('the refusal', () =>
    rig.proxy.asked.methods.slice(before).includes('eth_sendRawTransaction'),
  );

  reprice(60_000n);
  await rig.pending(1);
  await rig.node.mine();

  await rig.verified(ids);
});
