import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { run } from '../support/programs.ts';
import type { StartingServer } from '../support/server-process.ts';
import { violationsOf } from './outcome.ts';
import type { Robots } from './robots.ts';
import { GRANTED, type Stage } from './run-resources.ts';

/** Without a new receipt for so long, no more will come. */
const STALLED_MS = 90_000;

/**
 * Waits under the last server until every proof is anchored, and holds everything against the chain. Ends
 * the server. Answers what is wrong.
 */
export async function settleAndCheck(
  stage: Stage,
  { server, robots, session }: { server: StartingServer; robots: Robots; session: string },
  isMoved: boolean,
): Promise<string[]> {
  const url = await server.url;
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  if (!(await isFinished(robots))) return [await unfinished(url, robots)];
  const { chain, accounts } = stage;
  const senders = accounts.map(({ address }) => address);
  const { errands } = robots;
  const outcome = { rpcUrl: chain.url, senders, owner, granted: GRANTED, errands, isMoved };
  const violations = await violationsOf(outcome);
  const exit = await server.kill('SIGTERM');
  if (exit !== '0') violations.push(`the server ended with ${exit}`);
  return [...violations, ...(await databaseViolations(stage))];
}

async function isFinished(robots: Robots): Promise<boolean> {
  const finished = robots.finish().then(() => true);
  for (;;) {
    const open = openErrands(robots).length;
    const isDone = await Promise.race([finished, sleep(STALLED_MS, false, { ref: false })]);
    if (isDone || openErrands(robots).length === open) return isDone;
  }
}

function openErrands({ errands }: Robots) {
  return errands.filter(({ receipt }) => receipt === null);
}

async function unfinished(url: string, robots: Robots): Promise<string> {
  const ready = await (await fetch(`${url}/readyz`)).text();
  return `${openErrands(robots).length} of ${robots.errands.length} proofs have no receipt; readyz: ${ready}`;
}

async function databaseViolations({ database }: Stage): Promise<string[]> {
  const { exitCode, stdout, stderr } = await run('svc-server', ['check'], {
    env: database,
  });
  return exitCode === 0 ? [] : [`svc-server check: ${stdout}${stderr}`];
}
