// `svc tasks`: tasks of robots and the state of their anchors.

import { type Field, fieldsNamed } from '../../base/output/fields.ts';
import type { Column } from '../../base/output/output.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Finality } from '../../protocol/resources.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import { findRobot, findTask, robotNames, taskArgument } from '../input/find.ts';
import { followChanges } from '../input/follow.ts';
import { noteRest, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { exitCodes } from '../program/exit-codes.ts';
import { cursorOption, limitOption, positive } from '../program/options.ts';

export const taskCommands: readonly CommandSpec[] = [
  {
    path: 'tasks list',
    summary: 'List the tasks, newest first',
    options: [
      {
        flags: '--status <status>',
        summary: 'only tasks with this status',
        completes: ['claimed', 'verified'],
      },
      { flags: '--robot <robot>', summary: 'only tasks of this robot', completes: 'robot' },
      {
        flags: '--overdue',
        summary:
          'only tasks that the service promised to have anchored by now, and has not anchored',
      },
      limitOption,
      cursorOption,
    ],
    examples: ['svc tasks list', 'svc tasks list --robot hall-robot-1 --status claimed'],
    async run(context, { status, robot, overdue, ...range }: ListInput) {
      const { call, output, wait } = context;
      const filter = {
        ...(status !== undefined && { status }),
        ...(overdue === true && { state: 'overdue' as const }),
        ...(robot !== undefined && { robot_id: (await findRobot(context, robot)).id }),
      };
      const [page, nameOf] = await wait('Reading tasks', () =>
        Promise.all([
          readPages((query) => call('listTasks', { query: { ...query, ...filter } }), range),
          robotNames(context),
        ]),
      );
      const columns: Column<ListedTask>[] = [
        { title: 'id', value: ({ id }) => id },
        { title: 'status', value: ({ status }) => status },
        { title: 'anchor', value: ({ anchor }) => anchor?.state ?? null },
        {
          title: 'robot',
          value: (task) => task.robot_id,
          shown: (task) => nameOf(task.robot_id),
          shrinks: true,
        },
        { title: 'title', value: ({ title }) => title, shrinks: true },
        { title: 'created', value: (task) => task.created_at, isTime: true },
      ];
      await output.table(page, page.items, columns);
      noteRest(output, page);
    },
  },
  {
    path: 'tasks show',
    summary: 'Show a task, its anchor and its receipt',
    arguments: [taskArgument],
    examples: [
      'svc tasks show 01a1fa88-6262',
      'svc tasks show 01a1fa88-6262-702f-af77-0aaec0d1b17b --json | jq .verification > receipt.json',
    ],
    async run(context, { task }: { task: string }) {
      const params = { id: await findTask(context, task) };
      const { body } = await context.call('getTask', { params });
      await context.output.record(body, fieldsOf(body));
    },
  },
  {
    path: 'tasks watch',
    summary: 'Wait until the evidence of a task is anchored',
    details: 'svc reports each change on standard error, and prints the task when the wait ends.',
    arguments: [taskArgument],
    options: [
      {
        flags: '--until <finality>',
        summary: 'finality to wait for',
        completes: ['included', 'safe', 'finalized'],
        default: 'included',
      },
      {
        flags: '--timeout <seconds>',
        summary: 'exit with 8 after this time (default: never)',
        parse: positive,
      },
    ],
    examples: ['svc tasks watch 01a1fa88-6262-702f-af77-0aaec0d1b17b --timeout 120'],
    /** Ends with 0 at the finality of `--until`, and fails if the chain refused the anchor. */
    async run(context, input: WatchInput) {
      const { output, wait } = context;
      const { body, state } = await wait('Waiting for the anchor', () => watch(context, input));
      await output.record(body, fieldsOf(body));
      if (state === 'pending') {
        throw new SvcError('still_pending', `Not ${input.until} within ${input.timeout} s.`, {
          hint:
            body.anchor === null
              ? 'The service has no evidence of this task yet: the robot must submit it.'
              : 'Run svc tasks watch again; the service continues.',
        });
      }
      if (state === 'failed') {
        const message = 'The chain refused the anchor; nothing was charged.';
        throw new SvcError('anchoring_failed', message, {
          hint: 'Let the robot submit its proof again.',
        });
      }
      return exitCodes.done;
    },
  },
];

type ListedTask = Answer<'listTasks'>['body']['items'][number];
type TaskAnswer = Answer<'getTask'>['body'];

interface ListInput extends Range {
  status?: 'claimed' | 'verified';
  robot?: string;
  overdue?: boolean;
}

/** Used by every command that prints one task. */
function fieldsOf({ task, anchor, verification }: TaskAnswer): Field[] {
  const refusedAt = anchor === null ? task.credit_refused_at : null;
  return [
    ...fieldsNamed(task, 'id', 'title', 'description', 'status', 'robot_id'),
    ...(task.outcome === null ? [] : [['outcome', task.outcome] satisfies Field]),
    ...fieldsNamed(task, 'created_at', 'occurred_at'),
    ['expected_result', task.expected_result && JSON.stringify(task.expected_result)],
    ...(refusedAt === null ? [] : [['credit_refused_at', refusedAt] satisfies Field]),
    ['anchor', anchor?.state ?? null],
    ...fieldsNamed(anchor, 'proof_hash', 'tx_hash', 'explorer_url'),
    ...fieldsNamed(verification, 'block_number', 'anchored_at', 'finality'),
  ];
}

const POLL_MS = 1_000;

const order: readonly Finality[] = ['included', 'safe', 'finalized'];

interface WatchInput {
  task: string;
  until: Finality;
  timeout?: number;
}

async function watch(
  context: Context,
  { task, until, timeout = Number.POSITIVE_INFINITY }: WatchInput,
): Promise<{ body: TaskAnswer; state: 'reached' | 'failed' | 'pending' }> {
  const { output } = context;
  const { client } = await context.session();
  const id = await findTask(context, task);
  const deadline = performance.now() + timeout * 1000;
  const changes = followChanges(client, ['task', 'anchor'], POLL_MS);
  try {
    for (let noted = ''; ; ) {
      const { body } = await client.call('getTask', { params: { id } });
      const now = stateOf(body);
      if (now !== noted) output.note(now);
      noted = now;
      if (reaches(body, until)) return { body, state: 'reached' };
      if (body.anchor?.state === 'failed') return { body, state: 'failed' };
      if (performance.now() + POLL_MS > deadline) return { body, state: 'pending' };
      await changes.next(deadline - performance.now());
    }
  } finally {
    changes.close();
  }
}

function stateOf({ task, anchor, verification }: TaskAnswer): string {
  if (anchor === null) return `${task.status}: no proof was submitted yet`;
  const { state, tx_hash: hash } = anchor;
  const finality = verification?.finality ?? state;
  return `${task.status}: ${state === 'included' ? finality : state}${hash === null ? '' : `, ${hash}`}`;
}

function reaches({ verification }: TaskAnswer, until: Finality): boolean {
  if (verification === null) return false;
  return order.indexOf(verification.finality) >= order.indexOf(until);
}
