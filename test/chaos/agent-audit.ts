import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../src/base/svc-error.ts';
import type { Client } from '../../src/client/client.ts';
import { leavesIn, scanAnchors } from '../support/chain-scan.ts';
import type { Answered, Promises } from './agent-load.ts';

export interface AgentAudit {
  rpcUrl: string;
  robotId: string;
  owner: Client;
  robot: Client;
  promises: Promises;
  /** When the agent was killed, of `performance.now()`. */
  kills: readonly number[];
  /** Age at which an answered sample or event must outlive a kill; beside it, whatever a later commit took along. */
  durableMs: number;
}

/** Holds what the agent answered against the service and the chain; a line for each thing that is wrong. */
export async function auditAgent(audit: AgentAudit): Promise<string[]> {
  const samples = await pagesOf((cursor) =>
    audit.owner.call('readTelemetry', {
      params: { id: audit.robotId },
      query: { limit: '200', ...(cursor !== null && { cursor }) },
    }),
  );
  const events = await pagesOf((cursor) =>
    audit.owner.call('listEvents', { query: { limit: '200', ...(cursor !== null && { cursor }) } }),
  );
  return [
    ...answerFaults(audit.promises),
    ...(await completionFaults(audit)),
    ...recordFaults('sample', audit.promises.samples, samples, audit),
    ...recordFaults('event', audit.promises.events, events, audit),
  ];
}

/** What the agent could not take it may have cut off, and never refused: there was room, and every call was right. */
function answerFaults({ answers, completions }: Promises): string[] {
  const refused = [...answers].filter(([status]) => ![0, 201, 202].includes(status));
  return [
    ...refused.map(([status, count]) => `${count} calls were answered with ${status}`),
    ...(completions.size === 0 ? ['no completion was answered'] : []),
  ];
}

/** Each answered completion has its receipt, and the chain has one leaf for each receipt there is. */
async function completionFaults({ rpcUrl, owner, robot, promises }: AgentAudit): Promise<string[]> {
  const faults: string[] = [];
  for (const [id, proofHash] of promises.completions) {
    const { body } = await patiently(() => robot.call('getTask', { params: { id } }));
    const anchored = body.verification?.proof_hash;
    if (anchored !== proofHash) faults.push(`completion of ${id}: ${anchored ?? 'no receipt'}`);
  }
  const verified = await pagesOf((cursor) =>
    owner.call('listTasks', {
      query: { status: 'verified', limit: '200', ...(cursor !== null && { cursor }) },
    }),
  );
  const leaves = leavesIn(await scanAnchors(rpcUrl));
  if (leaves !== verified.length) {
    faults.push(`${leaves} proofs on the chain for ${verified.length} verified tasks`);
  }
  return faults;
}

/** Asks again where the limit of calls is reached, as it is with more tasks than calls a minute. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SvcError && error.code === 'rate_limited')) throw error;
      await sleep(Number(error.details.retry_after) * 1000);
    }
  }
}

function recordFaults(
  kind: string,
  answered: ReadonlyMap<string, Answered>,
  stored: readonly { id: string }[],
  { kills, durableMs, promises }: AgentAudit,
): string[] {
  const times = new Map<string, number>();
  for (const { id } of stored) times.set(id, (times.get(id) ?? 0) + 1);
  const foreign = [...times.keys()].filter((id) => !promises.asked.has(id));
  const repeated = [...times].filter(([, count]) => count > 1);
  const lost = [...answered].filter(([id, { asked, read }]) => {
    const isCommitted = (kill: number) =>
      promises.commits.some((commit) => read <= commit && commit < kill);
    const atRisk = kills.some(
      (kill) => kill > asked && kill - read <= durableMs && !isCommitted(kill),
    );
    return !atRisk && !times.has(id);
  });
  return [
    ...foreign.map((id) => `${kind} ${id} is stored, but no robot recorded that id`),
    ...repeated.map(([id, count]) => `${kind} ${id} is stored ${count} times`),
    ...lost.map(([id]) => `${kind} ${id} was answered and is not stored`),
  ];
}

interface Page {
  items: { id: string }[];
  next_cursor: string | null;
}

/** Every item of a list; a series is no list. */
async function pagesOf(
  read: (cursor: string | null) => Promise<{ body: Page | object }>,
): Promise<{ id: string }[]> {
  const items: { id: string }[] = [];
  let cursor: string | null = null;
  do {
    const page = (await read(cursor)).body as Page;
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return items;
}
