import { afterEach, beforeEach, expect, it } from 'vitest';
import type {
  InclusionChanges,
  Lease,
  NewAttempt,
  UnprovenAnchor,
} from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { blockWith } from '../support/synthetic-block.ts';
import { type OpenStore, randomHash, World } from './world.ts';

const retry = { firstMs: 1_000, maxMs: 3_000 };

export function chainProofContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot();
  });
  afterEach(async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.close();
  });

  const record = (changes: Partial<InclusionChanges>) =>
    world.store.recordInclusionChanges(
      lease,
      { safe: [], finalized: [], reorged: [], ...changes },
      world.now,
    );
  const take = (limit = 5) => world.store.takeUnproven(limit, retry, world.now);
  const taken = async () => {
    const [anchor] = await take();
    if (anchor === undefined) throw new Error('No anchor is due');
    return anchor;
  };
  const idsOf = (anchors: readonly UnprovenAnchor[]) => anchors.map(({ attemptId }) => attemptId);

  /** An attempt in a block whose proof is known, and the task of its only leaf. */
  async function mined() {
    const task = await world.task(robot.id);
    const { proofHash } = world.completion(task);
    await world.store.queueCompletion(world.completion(task));
    const attempt = await world.committed(lease);
    const block = blockWith(attempt.variant.rawTx);
    await include(attempt, block);
    await world.store.settleLeaves(lease, attempt.id, 5, world.now);
    return { attempt, ...block, taskId: task.id, proofHash };
  }
  async function include(attempt: NewAttempt, block: ReturnType<typeof blockWith>) {
    const { proof: _, ...place } = block;
    await world.store.recordInclusion(lease, attempt.id, world.mined(attempt, place), world.now);
  }
  async function finalized() {
    const anchor = await mined();
    await record({ finalized: [anchor.attempt.id] });
    return anchor;
  }
  const stored = async (taskId: string) =>
    (await world.store.getBundle(taskId, { robotId: robot.id }))?.mined?.chainProof;

  it('is due soon if a wrong clock postponed it for years', async () => {
    await finalized();
    world.clock.advance(700 * 86_400_000);
    await taken();

    world.clock.advance(-700 * 86_400_000);

    expect(await take()).toHaveLength(1);
    expect(await take()).toEqual([]);
  });

  it('is due as soon as an anchor is final, with everything needed to build it', async () => {
    const { attempt, blockHash, blockNumber, txIndex } = await mined();
    expect(await take()).toEqual([]);
    expect(await world.store.countMissingChainProofs()).toBe(0);

    await record({ finalized: [attempt.id] });
    await world.reopen();

    expect(await world.store.countMissingChainProofs()).toBe(1);
    expect(await take()).toEqual([
      {
        attemptId: attempt.id,
        chainId: lease.chainId,
        sender: lease.sender,
        payload: attempt.payload,
        txHash: attempt.variant.txHash,
        rawTx: attempt.variant.rawTx,
        blockNumber,
        blockHash,
        txIndex,
        tries: 1,
      },
    ]);
  });

  it('is taken by one worker at a time, and again after pauses that double up to a maximum', async () => {
    const { attempt } = await finalized();

    for (const [i, pause] of [1_000, 2_000, 3_000, 3_000].entries()) {
      expect(await take()).toMatchObject([{ attemptId: attempt.id, tries: i + 1 }]);
      world.clock.advance(pause - 1);
      expect(await take()).toEqual([]);
      world.clock.advance(1);
    }
  });

  it('is taken in the order in which the anchors became due', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      ids.push((await finalized()).attempt.id);
      world.clock.advance(1);
    }

    expect(idsOf(await take(2))).toEqual(ids.slice(0, 2));
    expect(idsOf(await take(2))).toEqual(ids.slice(2));
    expect(await take(2)).toEqual([]);
  });

  it('is in the bundle and in the public anchor once it is stored', async () => {
    const { taskId, proofHash, proof, blockHash, txIndex, attempt } = await finalized();
    const publicly = async () => (await world.store.findPublicAnchor(proofHash, null))?.proven;
    const anchor = await taken();
    expect(await stored(taskId)).toBeNull();
    expect(await publicly()).toBeNull();

    expect(await world.store.recordChainProof(anchor, proof)).toBe(true);
    await world.reopen();

    expect(await stored(taskId)).toEqual(proof);
    expect(await publicly()).toEqual({ blockHash, txIndex, rawTx: attempt.variant.rawTx });
    expect(await world.store.countMissingChainProofs()).toBe(0);
    world.clock.advance(retry.maxMs);
    expect(await take()).toEqual([]);
    expect(await world.store.recordChainProof(anchor, proof)).toBe(false);
  });

  it('is removed after a reorganization, and due again in the next block', async () => {
    const { attempt, taskId, proof } = await finalized();
    const anchor = await taken();
    await world.store.recordChainProof(anchor, proof);

    await record({ reorged: [attempt.id] });
    expect(await stored(taskId)).toBeNull();
    expect(await world.store.countMissingChainProofs()).toBe(0);
    await include(attempt, blockWith(attempt.variant.rawTx, 6n));
    await record({ finalized: [attempt.id] });

    expect(await take()).toMatchObject([{ attemptId: attempt.id, blockNumber: 6n }]);
  });

  it('is refused for a block that the anchor left while it was built', async () => {
    const { attempt, taskId, proof } = await finalized();
    const anchor = await taken();
    await record({ reorged: [attempt.id] });
    expect(await world.store.recordChainProof(anchor, proof)).toBe(false);
    await include(attempt, blockWith(attempt.variant.rawTx, 6n));
    await record({ finalized: [attempt.id] });

    expect(await world.store.recordChainProof(anchor, proof)).toBe(false);

    const other = { attemptId: attempt.id, txHash: randomHash(), blockHash: randomHash() };
    expect(await world.store.recordChainProof(other, proof)).toBe(false);
    expect(await stored(taskId)).toBeNull();
  });

  it('outlives the robot whose evidence is anchored', async () => {
    const { proof } = await finalized();
    const anchor = await taken();
    await world.store.recordChainProof(anchor, proof);
    await finalized();

    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    expect(await world.store.countMissingChainProofs()).toBe(1);
    expect(await take()).toHaveLength(1);
  });

  it('is reported by the check if it does not lead to the block', async () => {
    await finalized();
    const anchor = await taken();
    const { proof } = blockWith(randomHash());
    await world.store.recordChainProof(anchor, proof);

    expect(await world.store.checkInvariants()).toMatchObject([
      { invariant: 'chain_proofs_lead_to_transactions' },
    ]);
    await record({ reorged: [anchor.attemptId] });
  });
}
