import { createClient } from '../../src/client/client.ts';
import type { Task, Verification } from '../../src/protocol/resources.ts';
import { type MinedTransaction, provenBy } from './chain-scan.ts';
import { robotClient, signInAt } from './server-process.ts';
import { waitFor } from './wait-for.ts';

export interface Work {
  session: string;
  apiKey: string;
  tasks: { task: Task; proof: { index: number } }[];
}

/** Tasks of a new account's robot. */
export async function claimWork(url: string, count: number): Promise<Work> {
  const { owner, session } = await signInAt(url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  const robot = robotClient(url, String(body.api_key));
  const tasks = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const claim = await robot.call('createTask', { body: { title: `Parcel ${index}` } });
      return { task: claim.body.task, proof: { index } };
    }),
  );
  return { session, apiKey: String(body.api_key), tasks };
}

/** Hands in every proof at once; answers the receipts that came, and the codes of the refusals. */
export async function completeAll(url: string, { apiKey, tasks }: Work) {
  const robot = robotClient(url, apiKey);
  const answers = await Promise.allSettled(
    tasks.map(({ task, proof }) =>
      robot.call('completeTask', { params: { id: task.id }, body: { proof } }),
    ),
  );
  return {
    receipts: answers.flatMap((answer) =>
      answer.status === 'fulfilled' && answer.value.status === 200
        ? [answer.value.body.verification]
        : [],
    ),
    refusals: answers.flatMap((answer) =>
      answer.status === 'rejected' ? [(answer.reason as { code: string }).code] : [],
    ),
  };
}

/** Waits for each of them. */
export async function readReceipts(url: string, { session, tasks }: Work): Promise<Verification[]> {
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  const receipts: Verification[] = [];
  for (const { task } of tasks) {
    const read = async () =>
      (await owner.call('getTask', { params: { id: task.id } })).body.verification;
    receipts.push(await waitFor('the receipt', read));
  }
  return receipts;
}

/** Whether the anchors prove each receipt. */
export function provenWork(
  { tasks }: Work,
  receipts: Verification[],
  anchors: MinedTransaction[],
): boolean[] {
  return receipts.map((receipt, index) => {
    const { task, proof } = tasks[index] ?? {};
    const claim = {
      created_at: task?.created_at,
      description: null,
      expected_result: null,
      occurred_at: null,
      title: task?.title,
    };
    return provenBy(anchors, receipt, { proof, claim });
  });
}
