import { SvcError } from '../../base/svc-error.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import { findRobot } from '../find-one.ts';
import type { Column, Field } from '../output.ts';
import { readPages } from '../read-pages.ts';
import { robotNames } from '../robot-names.ts';
import { showTime } from '../show-time.ts';

type ListedTask = Answer<'listTasks'>['body']['items'][number];
export type TaskAnswer = Answer<'getTask'>['body'];

interface ListInput {
  status?: 'claimed' | 'verified';
  robot?: string;
  limit: number;
  cursor?: string;
}

/** `svc tasks list` */
export async function listTasks(
  { session, output, wait }: Context,
  { status, robot, ...range }: ListInput,
): Promise<void> {
  const { client } = await session();
  const filter = {
    ...(status !== undefined && { status }),
    ...(robot !== undefined && { robot_id: (await findRobot(client, robot)).id }),
  };
  const [page, nameOf] = await wait('Reading tasks', () =>
    Promise.all([
      readPages((query) => client.call('listTasks', { query: { ...query, ...filter } }), range),
      robotNames(client, output),
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
    {
      title: 'created',
      value: (task) => task.created_at,
      shown: (task) => showTime(task.created_at),
    },
  ];
  await output.table(page, page.items, columns);
  noteRest(output, page);
}

/** Says how to go on where a list was cut. */
export function noteRest(
  output: Context['output'],
  { next_cursor: cursor }: { next_cursor: string | null },
): void {
  if (cursor !== null && output.isTerminal) {
    output.note(`There is more: --limit, or --cursor ${cursor}`);
  }
}

/** `svc tasks show TASK` */
export async function showTask(
  { session, output }: Context,
  { task }: { task: string },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('getTask', { params: { id: taskId(task) } });
  await output.record(body, fieldsOf(body));
}

/** Throws `usage` where it is no id: tasks have no names, and too many of them begin alike. */
export function taskId(text: string): string {
  const id = text.toLowerCase();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  throw new SvcError('usage', 'A task is named by its whole id.', {
    hint: 'svc tasks list shows it.',
  });
}

/** The same for every command that answers a task. */
export function fieldsOf({ task, anchor, verification }: TaskAnswer): Field[] {
  return [
    ['id', task.id],
    ['title', task.title],
    ['description', task.description],
    ['status', task.status],
    ['robot_id', task.robot_id],
    ['created_at', task.created_at],
    ['occurred_at', task.occurred_at],
    ['expected_result', task.expected_result && JSON.stringify(task.expected_result)],
    ['anchor', anchor?.state ?? null],
    ['proof_hash', anchor?.proof_hash ?? null],
    ['tx_hash', anchor?.tx_hash ?? null],
    ['explorer_url', anchor?.explorer_url ?? null],
    ['block_number', verification?.block_number ?? null],
    ['anchored_at', verification?.anchored_at ?? null],
    ['finality', verification?.finality ?? null],
  ];
}
