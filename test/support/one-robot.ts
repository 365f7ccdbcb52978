import type { Client } from '../../src/client/client.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { robotClient, type ServerProcess, signInAt } from './server-process.ts';
import { waitFor } from './wait-for.ts';

export const PATIENCE_MS = 60_000;

/** Claims a task and hands in its evidence; answers its id once that is queued or verified. */
export async function completeTask(robot: Client): Promise<string> {
  const { body } = await robot.call('createTask', { body: { title: 'Sort' } });
  const { id } = body.task;
  const handIn = () => robot.call('completeTask', { params: { id }, body: { proof: { id } } });
  // Refused until there is a fee quote.
  await waitFor(
    'it to be taken',
    () =>
      handIn().then(
        () => true,
        () => false,
      ),
    PATIENCE_MS,
  );
  return id;
}

export function receiptOf(robot: Client, id: string): Promise<Verification> {
  return waitFor(
    'its receipt',
    async () => (await robot.call('getTask', { params: { id } })).body.verification,
    PATIENCE_MS,
  );
}

/** Registers a robot at a new server and sees it anchor once; answers its API key. */
export async function anchorOnce({ url }: ServerProcess): Promise<string> {
  const { owner } = await signInAt(url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  const robot = robotClient(url, String(body.api_key));
  await receiptOf(robot, await completeTask(robot));
  return String(body.api_key);
}
