import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import type { Finality } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { fieldsOf, type TaskAnswer, taskId } from './tasks.ts';

const POLL_MS = 1_000;

const order: readonly Finality[] = ['included', 'safe', 'finalized'];

interface WatchInput {
  task: string;
  until: Finality;
  timeout?: number;
}

/** `svc tasks watch TASK`: done when anchored as surely as asked, failed when the chain refused it. */
export async function watchTask(context: Context, input: WatchInput): Promise<0> {
  const { output, wait } = context;
  const { body, state } = await wait('Waiting for the anchor', () => watch(context, input));
  await output.record(body, fieldsOf(body));
  if (state === 'pending') {
    throw new SvcError('still_pending', `Not ${input.until} within ${input.timeout} s.`, {
      hint: 'The service goes on with it; watch it again.',
    });
  }
  if (state === 'failed') {
    throw new SvcError('anchoring_failed', 'The chain refused the anchor; nothing was charged.', {
      hint: 'The robot may hand its proof in again.',
    });
  }
  return exitCodes.done;
}

async function watch(
  { session, output }: Context,
  { task, until, timeout = Number.POSITIVE_INFINITY }: WatchInput,
): Promise<{ body: TaskAnswer; state: 'reached' | 'failed' | 'pending' }> {
  const { client } = await session();
  const id = taskId(task);
  const deadline = performance.now() + timeout * 1000;
  for (let told = ''; ; ) {
    const { body } = await client.call('getTask', { params: { id } });
    const now = stateOf(body);
    if (now !== told) output.note(now);
    told = now;
    if (reaches(body, until)) return { body, state: 'reached' };
    if (body.anchor?.state === 'failed') return { body, state: 'failed' };
    if (performance.now() + POLL_MS > deadline) return { body, state: 'pending' };
    await sleep(POLL_MS);
  }
}

function stateOf({ task, anchor, verification }: TaskAnswer): string {
  if (anchor === null) return `${task.status}: no proof was handed in yet`;
  const { state, tx_hash: hash } = anchor;
  const finality = verification?.finality ?? state;
  return `${task.status}: ${state === 'included' ? finality : state}${hash === null ? '' : `, ${hash}`}`;
}

function reaches({ verification }: TaskAnswer, until: Finality): boolean {
  if (verification === null) return false;
  return order.indexOf(verification.finality) >= order.indexOf(until);
}
