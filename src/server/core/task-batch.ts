// Batches: claims and completes several tasks of a robot in one call.
import type { Answer, Body } from '../../protocol/routes.ts';
import type { RobotCaller } from '../ports/robots.ts';
import { type Completed, completeTask, type Result, type Wait } from './completions.ts';
import type { Deps } from './deps.ts';
import { type AcceptedTask, promiseOf } from './signing/promises.ts';
import { claimTask } from './tasks.ts';

export interface BatchItem {
  id: string;
  claim?: Omit<Body<'createTask'>, 'id'>;
  completion?: Result;
}

/** What became of an item. `error`: what the single call would have thrown; the claim may have succeeded before. */
export interface ItemOutcome {
  claimed?: Answer<'createTask'>['body'];
  completed?: Completed;
  error?: unknown;
}

/**
 * Runs the items at the same time, those of one task one after the other. The outcomes have the order of the items;
 * `promise` is for all that wait for their anchors.
 */
export async function runBatch(
  deps: Deps,
  robot: RobotCaller,
  items: readonly BatchItem[],
  wait: Wait,
): Promise<{ outcomes: ItemOutcome[]; promise: string | undefined }> {
  const accepted: AcceptedTask[] = [];
  const accept = async (task: AcceptedTask) => {
    accepted.push(task);
    return undefined;
  };
  const newest = new Map<string, Promise<ItemOutcome>>();
  const running = items.map((item) => {
    const { id } = item;
    const outcome = (newest.get(id) ?? Promise.resolve()).then(() =>
      runItem(deps, robot, item, { wait, accept }),
    );
    newest.set(id, outcome);
    return outcome;
  });
  const outcomes = await Promise.all(running);
  return { outcomes, promise: await promiseOf(deps, accepted) };
}

async function runItem(
  deps: Deps,
  robot: RobotCaller,
  item: BatchItem,
  { wait, accept }: { wait: Wait; accept: (task: AcceptedTask) => Promise<undefined> },
): Promise<ItemOutcome> {
  const outcome: ItemOutcome = {};
  try {
    const { id, claim } = item;
    if (claim !== undefined) outcome.claimed = await claimTask(deps, robot, { ...claim, id });
    if (item.completion !== undefined) {
      const completing = completeTask(deps, robot, id, item.completion, wait, accept);
      // So that the evidence is not kept in memory until its anchor.
      delete item.completion;
      outcome.completed = await completing;
    }
  } catch (error) {
    outcome.error = error;
  }
  return outcome;
}
