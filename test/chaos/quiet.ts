import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/client.ts';
import { run } from '../support/programs.ts';
import type { StartingServer } from '../support/server-process.ts';
import { violationsOf } from './outcome.ts';
import type { Robots } from './robots.ts';
import { GRANTED, type Stage } from './stage.ts';

const QUIET_MS = 120_000;

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
  const isDone = await Promise.race([
    robots.finish().then(() => true),
    sleep(QUIET_MS, false, { ref: false }),
  ]);
  if (!isDone) return [await unfinished(url, robots)];
  const { chain, accounts, server: options } = stage;
  const senders = accounts.map(({ address }) => address);
  const { errands } = robots;
  const outcome = { rpcUrl: chain.url, senders, owner, granted: GRANTED, errands, isMoved };
  const violations = await violationsOf(outcome);
  const exit = await server.kill('SIGTERM');
  if (exit !== '0') violations.push(`the server ended with ${exit}`);
  return [...violations, ...(await databaseViolations(options.dataDir))];
}

async function unfinished(url: string, { errands }: Robots): Promise<string> {
  const open = errands.filter(({ receipt }) => receipt === null);
  const ready = await (await fetch(`${url}/readyz`)).text();
  return `${open.length} of ${errands.length} proofs have no receipt; readyz: ${ready}`;
}

async function databaseViolations(dataDir: string): Promise<string[]> {
  const { exitCode, stdout, stderr } = await run('svc-server', ['check'], {
    env: { SVC_DATA_DIR: dataDir },
  });
  return exitCode === 0 ? [] : [`svc-server check: ${stdout}${stderr}`];
}
