import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import type { JsonObject } from '../../src/proof/json-value.ts';
import { completeTask } from '../../src/server/core/completions.ts';
import type { Deps } from '../../src/server/core/deps.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { keyHashOf, World } from '../contract/world.ts';

const first = { run: 'first' };
const second = { run: 'second' };

describe('a completion whose wait ends when another proof has been accepted', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.open(openTemporarySqlite);
  });
  afterEach(() => world.close());

  /** The wait ends in the moment that `meanwhile` makes of it. */
  function complete(task: TaskRecord, proof: JsonObject, meanwhile: () => Promise<void>) {
    const { store } = world;
    const racing: Store = Object.create(store, {
      waitForCompletion: { value: meanwhile },
    });
    const deps = {
      store: racing,
      clock: world.clock,
      settings: { anchorTimeoutMs: 1_000, chainId: 31_337 },
      network: async () => ({ explorerUrl: 'https://explorer.test' }),
    } as unknown as Deps; // what a completion works with
    const { robotId, wallet } = task;
    const robot = { id: robotId, wallet, keyHash: keyHashOf(robotId), isSuspended: false };
    return completeTask(deps, robot, task.id, proof, (work) => work(new AbortController()));
  }

  async function race(after: (accepted: TaskRecord) => Promise<void>) {
    const lease = await world.lease();
    const task = await world.task((await world.robot()).id);
    const answer = complete(task, first, async () => {
      await world.store.failQueuedProofs(lease, [task.id], 'reverted', world.now);
      await world.store.queueCompletion(world.completion(task, second));
      await after(task);
    });
    return { lease, answer };
  }

  it('is told that the other is in progress', async () => {
    const { answer } = await race(async () => {});

    await expect(answer).rejects.toMatchObject({
      code: 'completion_in_progress',
      details: { proof_hash: hashProof(second), same_evidence: false },
    });
  });

  it("never gets the other's receipt as its own", async () => {
    const { answer } = await race(async () => {
      await world.settled(await world.lease());
    });

    await expect(answer).rejects.toMatchObject({
      code: 'already_completed',
      details: { proof_hash: hashProof(second), verification: { proof_hash: hashProof(second) } },
    });
  });

  it('failed, when the other failed as well', async () => {
    const { answer } = await race(async (task) => {
      await world.store.failQueuedProofs(await world.lease(), [task.id], 'reverted', world.now);
    });

    await expect(answer).rejects.toMatchObject({
      code: 'anchoring_failed',
      details: { proof_hash: hashProof(first) },
    });
  });
});
