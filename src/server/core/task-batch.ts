// Batches: claims and completes several tasks of a robot in one call.
import type { Hex } from '../../proof/bytes.ts';
import type { Answer, Body } from '../../protocol/routes.ts';
import type { RobotCaller } from '../ports/robots.ts';
import {
  acceptCompletion,
  answerByState,
  type Completed,
  type Result,
  type Wait,
  waitForAnchors,
} from './completions.ts';
import type { Deps } from './deps.ts';
import { type AcceptedTask, promiseOf } from './signing/promises.ts';
import { claimTask, taskNotFound } from './tasks.ts';

export interface BatchItem {
  id: string;
  claim?: Omit<Body<'createTask'>, 'id'>;
  completion?: Result;
}

/** The outcome of an item. `error`: what the single call would have thrown; the claim may have succeeded before. */
export interface ItemOutcome {
  claimed?: Answer<'createTask'>['body'];
  completed?: Completed;
  error?: unknown;
}

/** An item and its outcome, which its steps complete. */
interface Running {
  item: BatchItem;
  outcome: ItemOutcome;
}

/** An item whose completion is queued. */
type Queued = Running & { proofHash: Hex };

/**
 * Runs the items at the same time, those of one task one after the other, and waits once for all anchors. The outcomes
 * have the order of the items; `promise` is for all that still wait for their anchors.
 */
export async function runBatch(
  deps: Deps,
  robot: RobotCaller,
  items: readonly BatchItem[],
  wait: Wait<void>,
): Promise<{ outcomes: ItemOutcome[]; promise: string | undefined }> {
  const accepted: AcceptedTask[] = [];
  const all = items.map((item): Running => ({ item, outcome: {} }));
  for (let left = all; left.length > 0; ) {
    const ids = left.map(({ item }) => item.id);
    const round = left.filter(({ item }, i) => ids.indexOf(item.id) === i);
    const queued = await Promise.all(round.map((one) => begin(deps, robot, one)));
    await finish(deps, robot, { queued: queued.flatMap((one) => one ?? []), wait, accepted });
    left = left.filter((one) => !round.includes(one));
  }
  return { outcomes: all.map(({ outcome }) => outcome), promise: await promiseOf(deps, accepted) };
}

/** Claims, and queues the completion; null if there is none to wait for. */
async function begin(
  deps: Deps,
  robot: RobotCaller,
  { item, outcome }: Running,
): Promise<Queued | null> {
  try {
    const { id, claim } = item;
    if (claim !== undefined) outcome.claimed = await claimTask(deps, robot, { ...claim, id });
    if (item.completion === undefined) return null;
    const accepting = acceptCompletion(deps, robot, id, item.completion);
    // So that the evidence is not kept in memory until its anchor.
    delete item.completion;
    return { item, outcome, proofHash: await accepting };
  } catch (error) {
    outcome.error = error;
    return null;
  }
}

interface Waiting {
  queued: readonly Queued[];
  wait: Wait<void>;
  accepted: AcceptedTask[];
}

/** Waits for the anchors of queued completions, and answers each. */
async function finish(deps: Deps, robot: RobotCaller, { queued, wait, accepted }: Waiting) {
  if (queued.length === 0) return;
  const ids = queued.map(({ item }) => item.id);
  const promise = async (task: AcceptedTask) => {
    accepted.push(task);
    return undefined;
  };
  const answers = wait(async (enough) => {
    await waitForAnchors(deps, ids, enough);
    const tasks = await deps.store.getTasks(ids, { robotId: robot.id });
    const taskOf = new Map(tasks.map((task) => [task.id, task]));
    for (const { item, outcome, proofHash } of queued) {
      try {
        const task = taskOf.get(item.id);
        if (task === undefined) throw taskNotFound();
        outcome.completed = await answerByState(deps, task, proofHash, promise);
      } catch (error) {
        outcome.error = error;
      }
    }
  });
  await answers.catch((error: unknown) => {
    for (const { outcome } of queued) outcome.error = error;
  });
}
