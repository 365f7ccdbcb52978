import fc from 'fast-check';
import { expect } from 'vitest';
import { SvcError } from '../../src/base/svc-error.ts';
import type { InclusionChanges, Lease } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { itHolds } from '../support/property.ts';
import { type OpenStore, World } from './world.ts';

type Step =
  | { do: 'grant'; account: number; anchors: number; gasWei: bigint }
  | { do: 'claim'; robot: number }
  | { do: 'delete'; robot: number }
  | { do: 'queue'; task: number; evidence: number }
  | { do: 'refuse'; count: number }
  | { do: 'commit'; limit: number }
  | { do: 'include'; attempt: number; gasPrice: bigint }
  | { do: 'settle'; attempt: number; limit: number }
  | { do: 'bump'; attempt: number }
  | { do: 'send'; attempt: number }
  | { do: 'stand'; attempt: number; as: keyof InclusionChanges }
  | { do: 'die'; attempt: number };

const index = fc.nat({ max: 40 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('grant' as const),
    account: index,
    anchors: fc.nat({ max: 5 }),
    gasWei: fc.bigInt({ min: 0n, max: 3_000_000n }),
  }),
  fc.record({ do: fc.constant('claim' as const), robot: index }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('queue' as const),
      task: index,
      evidence: fc.nat({ max: 2 }),
    }),
  },
  fc.record({ do: fc.constant('delete' as const), robot: fc.nat({ max: 8 }) }),
  fc.record({ do: fc.constant('refuse' as const), count: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ do: fc.constant('commit' as const), limit: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    do: fc.constant('include' as const),
    attempt: index,
    gasPrice: fc.bigInt({ min: 1n, max: 60n }),
  }),
  fc.record({
    do: fc.constant('settle' as const),
    attempt: index,
    limit: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant('bump' as const), attempt: index }),
  fc.record({ do: fc.constant('send' as const), attempt: index }),
  fc.record({
    do: fc.constant('stand' as const),
    attempt: index,
    as: fc.constantFrom('safe' as const, 'finalized' as const, 'reorged' as const),
  }),
  fc.record({ do: fc.constant('die' as const), attempt: index }),
);

/** Takes any of a list, or nothing of an empty one. */
function pick<T>(list: readonly T[], at: number): T | undefined {
  return list[at % list.length];
}

/** Moves that the state of the attempt does not allow are part of a history. */
async function orRefused(move: Promise<void>): Promise<void> {
  await move.catch((error: unknown) => {
    if (!(error instanceof SvcError) || error.code !== 'illegal_transition') throw error;
  });
}

class History {
  readonly #world: World;
  readonly #lease: Lease;
  readonly #wallets: string[];
  readonly #robots: NewRobot[];
  readonly #tasks: TaskRecord[] = [];
  readonly #attempts: Awaited<ReturnType<World['committed']>>[] = [];

  private constructor(world: World, lease: Lease, wallets: string[], robots: NewRobot[]) {
    this.#world = world;
    this.#lease = lease;
    this.#wallets = wallets;
    this.#robots = robots;
  }

  static async begin(world: World): Promise<History> {
    const lease = await world.lease();
    const wallets = [await world.account(2, 2_000_000n), await world.account(6, 9_000_000n)];
    const robots = [];
    for (const wallet of wallets) robots.push(await world.robot(wallet));
    return new History(world, lease, wallets, robots);
  }

  async take(step: Step): Promise<void> {
    const { store, now } = this.#world;
    switch (step.do) {
      case 'grant': {
        const wallet = pick(this.#wallets, step.account);
        if (wallet !== undefined) await this.#world.grant(wallet, step.anchors, step.gasWei);
        break;
      }
      case 'claim': {
        const robot = pick(this.#robots, step.robot);
        if (robot !== undefined) this.#tasks.push(await this.#world.task(robot.id));
        break;
      }
      case 'delete': {
        const robot = this.#robots[step.robot];
        if (robot === undefined) break;
        await store.deleteRobot(robot.id, robot.wallet, now);
        this.#robots[step.robot] = await this.#world.robot(robot.wallet);
        break;
      }
      case 'queue': {
        const task = pick(this.#tasks, step.task);
        if (task === undefined) break;
        await store.queueCompletion(this.#world.completion(task, { evidence: step.evidence }));
        break;
      }
      case 'refuse': {
        const proofs = await store.listQueuedProofs(this.#lease, step.count);
        const taskIds = proofs.map(({ taskId }) => taskId);
        await store.failQueuedProofs(this.#lease, taskIds, 'no funds', now);
        break;
      }
      case 'commit': {
        const proofs = await store.listQueuedProofs(this.#lease, step.limit);
        if (proofs.length === 0) break;
        const attempt = this.#world.attempt(proofs);
        await store.commitAttempt(this.#lease, attempt);
        this.#attempts.push(attempt);
        break;
      }
      case 'include': {
        const attempt = pick(this.#attempts, step.attempt);
        if (attempt === undefined) break;
        const mined = this.#world.mined(attempt, { effectiveGasPrice: step.gasPrice });
        await orRefused(store.recordInclusion(this.#lease, attempt.id, mined, now));
        break;
      }
      case 'settle': {
        const open = await store.listOpenAttempts(this.#lease);
        const attempt = pick(
          open.filter(({ state }) => state === 'included'),
          step.attempt,
        );
        if (attempt === undefined) break;
        await store.settleLeaves(this.#lease, attempt.id, step.limit, now);
        break;
      }
      case 'bump': {
        const attempt = pick(await store.listOpenAttempts(this.#lease), step.attempt);
        const newest = attempt?.variants.at(-1);
        if (attempt === undefined || newest === undefined) break;
        const variant = this.#world.variant(newest);
        const { id } = attempt;
        await orRefused(store.addVariant(this.#lease, id, variant, newest.txHash, now));
        break;
      }
      case 'send': {
        const attempt = pick(this.#attempts, step.attempt);
        if (attempt === undefined) break;
        await store.recordBroadcast(this.#lease, attempt.id, now);
        break;
      }
      case 'stand': {
        const attempt = pick(await store.listIncludedAttempts(this.#lease, 40), step.attempt);
        if (attempt === undefined) break;
        const inclusions = { safe: [], finalized: [], reorged: [], [step.as]: [attempt.id] };
        await store.recordInclusionChanges(this.#lease, inclusions, now);
        break;
      }
      case 'die': {
        const attempt = pick(await store.listOpenAttempts(this.#lease), step.attempt);
        if (attempt === undefined) break;
        await orRefused(store.recordReplacedNonce(this.#lease, attempt.id, now));
        break;
      }
    }
  }
}

export function historyContract(open: OpenStore): void {
  const name = 'leaves every invariant holding, and the same after it is opened again';
  itHolds(name, 40, async (numRuns) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 90, size: 'max' }), async (steps) => {
        const world = await World.open(open);
        try {
          const history = await History.begin(world);
          for (const step of steps) await history.take(step);
          expect(await world.store.checkInvariants()).toEqual([]);
          await world.reopen();
          expect(await world.store.checkInvariants()).toEqual([]);
        } finally {
          await world.close();
        }
      }),
      { numRuns },
    );
  });
}
