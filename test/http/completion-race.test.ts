import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import type { JsonObject } from '../../src/proof/json-value.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { apiKeyOf, World } from '../contract/world.ts';
import { serveStore } from '../support/store-service.ts';

const first = { run: 'first' };
const second = { run: 'second' };

describe('a completion whose wait ends when another proof has been accepted', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.open(openTemporarySqlite);
  });
  afterEach(() => world.close());

  /** The reply to the completion, whose wait for its anchor is replaced by `meanwhile`. */
  async function complete(task: TaskRecord, proof: JsonObject, meanwhile: () => Promise<void>) {
    const store: Store = Object.create(world.store, { waitForCompletions: { value: meanwhile } });
    const service = await serveStore({ store, clock: world.clock });
    onTestFinished(service.close);
    const apiKey = apiKeyOf(task.robotId);
    return service.call('POST', `/api/v1/tasks/${task.id}/complete`, { apiKey, body: { proof } });
  }

  /** The first proof fails while it waits, the second is accepted, and then comes what `after` does. */
  async function race(after: (accepted: TaskRecord) => Promise<void>) {
    const lease = await world.lease();
    const task = await world.task((await world.robot()).id);
    return complete(task, first, async () => {
      await world.store.failQueuedProofs(lease, [task.id], 'reverted', world.now);
      await world.store.queueCompletion(world.completion(task, second));
      await after(task);
    });
  }

  it('reports that the other is in progress', async () => {
    const { status, body } = await race(async () => {});

    expect(status).toBe(409);
    expect(body).toMatchObject({
      error: 'completion_in_progress',
      proof_hash: hashProof(second),
      same_evidence: false,
    });
  });

  it('never gets the receipt of the other as its own', async () => {
    const { status, body } = await race(async () => {
      await world.settled(await world.lease());
    });

    expect(status).toBe(409);
    expect(body).toMatchObject({
      error: 'already_completed',
      proof_hash: hashProof(second),
      verification: { proof_hash: hashProof(second) },
    });
  });

  it('fails if the other has failed as well', async () => {
    const { body } = await race(async (task) => {
      await world.store.failQueuedProofs(await world.lease(), [task.id], 'reverted', world.now);
    });

    expect(body).toMatchObject({ error: 'anchoring_failed', proof_hash: hashProof(first) });
  });
});
