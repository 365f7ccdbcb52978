import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptState, Lease, NewAttempt } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import {
  type AttemptEvent,
  attemptMoves,
  type CompletionEvent,
  completionMoves,
  type StoredCompletionState,
} from '../../src/server/rules/anchoring.ts';
import { attemptStates, completionStates } from '../support/anchoring-states.ts';
import { failsWith, type OpenStore, World } from './world.ts';

const attemptPairs = attemptStates.flatMap((from) =>
  Object.entries(attemptMoves).map(([event, moves]): [AttemptEvent, AttemptState, string] => [
    event as AttemptEvent,
    from,
    (moves as Partial<Record<AttemptState, AttemptState>>)[from] ?? 'refused',
  ]),
);
const completionPairs = completionStates.flatMap((from) =>
  Object.entries(completionMoves).map(
    ([event, moves]): [CompletionEvent, StoredCompletionState, string] => [
      event as CompletionEvent,
      from,
      (moves as Partial<Record<string, StoredCompletionState>>)[from] ?? 'refused',
    ],
  ),
);

/** Every event in every state, through the store's own methods. */
export function transitionContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  beforeAll(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot(await world.account(1_000));
  });
  afterAll(async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.close();
  });

  const stand = (id: string, as: 'safe' | 'finalized' | 'reorged') =>
    world.store.recordInclusionChanges(
      lease,
      { safe: [], finalized: [], reorged: [], [as]: [id] },
      world.now,
    );

  /** Signs what other cases left in the queue, so that this one alone waits. */
  async function queueAlone(): Promise<TaskRecord> {
    while ((await world.store.listQueuedProofs(lease, 1)).length > 0) await world.committed(lease);
    const [task] = await world.queued(robot.id, 1);
    if (task === undefined) throw new Error('One task was queued');
    return task;
  }

  async function attemptIn(state: AttemptState): Promise<NewAttempt> {
    await queueAlone();
    const attempt = await world.committed(lease);
    const { id } = attempt;
    if (state === 'signed') return attempt;
    await world.store.recordBroadcast(lease, id, world.now);
    if (state === 'submitted') return attempt;
    if (state === 'dead') {
      await world.store.recordReplacedNonce(lease, id, world.now);
      return attempt;
    }
    await world.store.recordInclusion(lease, id, world.mined(attempt), world.now);
    if (state === 'finalized' || state === 'reorged') await stand(id, state);
    return attempt;
  }

  function act(event: AttemptEvent, attempt: NewAttempt): Promise<unknown> {
    const { store, now } = world;
    const { id } = attempt;
    switch (event) {
      case 'broadcast':
        return store.recordBroadcast(lease, id, now);
      case 'replace':
        return world.replaced(lease, attempt);
      case 'include':
        return store.recordInclusion(lease, id, world.mined(attempt), now);
      case 'settle':
        return store.settleLeaves(lease, id, 1, now);
      case 'become_safe':
        return stand(id, 'safe');
      case 'finalize':
        return stand(id, 'finalized');
      case 'reorganize':
        return stand(id, 'reorged');
      case 'die':
        return store.recordReplacedNonce(lease, id, now);
    }
  }

  async function stateOf({ id, leaves }: NewAttempt): Promise<string> {
    const { store } = world;
    const open = (await store.listOpenAttempts(lease)).find((one) => one.id === id);
    if (open !== undefined) return open.state;
    const included = await store.listIncludedAttempts(lease, 1_000);
    if (included.some((one) => one.id === id)) return 'included';
    const task = await store.getTask(leaves[0]?.taskId ?? '', { robotId: robot.id });
    return task?.completion?.state === 'queued' ? 'dead' : (task?.completion?.state ?? 'gone');
  }

  describe.each(attemptPairs)('%s of an attempt that is %s', (event, from, to) => {
    it(to === 'refused' ? 'is refused, and nothing is written' : `leads to ${to}`, async () => {
      const attempt = await attemptIn(from);

      const acted = act(event, attempt);

      if (to === 'refused') {
        await expect(acted).rejects.toMatchObject(failsWith('illegal_transition'));
      } else {
        await acted;
      }
      expect(await stateOf(attempt)).toBe(to === 'refused' ? from : to);
    });
  });

  interface InQueue {
    task: TaskRecord;
    attempt: NewAttempt | null;
  }

  async function completionIn(state: StoredCompletionState): Promise<InQueue> {
    const task = await queueAlone();
    if (state === 'queued') return { task, attempt: null };
    if (state === 'failed') {
      await world.store.failQueuedProofs(lease, [task.id], 'reverted', world.now);
      return { task, attempt: null };
    }
    const attempt =
      state === 'included' ? await world.settled(lease) : await world.committed(lease);
    return { task, attempt };
  }

  async function actOn(event: CompletionEvent, { task, attempt }: InQueue): Promise<void> {
    const { store, now } = world;
    const { proofHash, leaf, taskId } = world.completion(task);
    switch (event) {
      case 'sign': {
        const proof = { taskId, proofHash, leaf, generation: 0 };
        const nonce = (await store.getNextNonce(lease)) ?? 0;
        await store.commitAttempt(lease, world.attempt([proof], { nonce }));
        return;
      }
      case 'fail':
        return store.failQueuedProofs(lease, [task.id], 'reverted', now);
      case 'try_again':
        await store.queueCompletion(world.completion(task, { again: true }));
        return;
      case 'settle':
        if (attempt === null) throw new Error('There is nothing to settle it by');
        await store.recordInclusion(lease, attempt.id, world.mined(attempt), now);
        await store.settleLeaves(lease, attempt.id, 1, now);
        return;
      case 'requeue':
        if (attempt === null) throw new Error('There is no attempt to die');
        await world.reorged(lease, attempt).catch(() => {});
        return store.recordReplacedNonce(lease, attempt.id, now);
    }
  }

  describe.each(completionPairs)('%s of a completion that is %s', (event, from, to) => {
    it(to === 'refused' ? 'changes nothing' : `leads to ${to}`, async () => {
      const queued = await completionIn(from);

      await actOn(event, queued).catch((error: unknown) => {
        if (to !== 'refused') throw error;
      });

      const task = await world.store.getTask(queued.task.id, { robotId: robot.id });
      // A verified task shows that it is on no chain, whatever it waits for.
      const shown = from === 'included' && to === 'queued' ? 'reorged' : to;
      expect(task?.completion?.state).toBe(to === 'refused' ? from : shown);
    });
  });
}
