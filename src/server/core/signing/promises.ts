// Promises: signs that an accepted result will be anchored, and reads the service's own promises again.

import { runYielding } from '../../../base/async/cooperative-yield.ts';
import { orNull } from '../../../base/or-null.ts';
import { DocumentError } from '../../../proof/document-error.ts';
import { type ClaimContent, hashClaimInPieces } from '../../../proof/hash.ts';
import { leafHash } from '../../../proof/leaf.ts';
import { readPromise } from '../../../proof/statements/promise.ts';
import { openKey, thumbprintOf } from '../../../proof/statements/public-key.ts';
import type { Body } from '../../../protocol/routes.ts';
import { formatTimestamp } from '../../../protocol/timestamp.ts';
import type { CompletionRecord, TaskRecord } from '../../ports/tasks.ts';
import type { Deps } from '../deps.ts';
import { anchoringChainId } from '../operations.ts';

/** A task whose completion waits for its anchor. */
export type AcceptedTask = TaskRecord & { completion: CompletionRecord };

/**
 * One promise for completions that wait for their anchors, as a JWS: from when the first of them was accepted. Undefined
 * without any, and while no listed account has its key here.
 */
export async function promiseOf(
  deps: Deps,
  tasks: readonly AcceptedTask[],
): Promise<string | undefined> {
  if (tasks.length === 0) return undefined;
  const acceptedAt = Math.min(...tasks.map(({ completion }) => completion.queuedAt));
  const accounts = await deps.store.listAnchoringAccounts();
  const key = deps.keys.find(({ address }) =>
    accounts.some((one) => one.address === address && one.promiseKey && one.lastBlock === null),
  );
  return key?.promiseKey.signPromise({
    origin: deps.settings.baseUrl,
    chain_id: await anchoringChainId(deps),
    accepted_at: formatTimestamp(acceptedAt),
    anchored_by: formatTimestamp(acceptedAt + deps.settings.promiseMs),
    leaves: tasks.map(({ id, createdAt, completion }) => {
      return { task_id: id, created_at: formatTimestamp(createdAt), leaf: completion.leaf };
    }),
  });
}

type Promised = NonNullable<Body<'createTask'>['promised']>;

/**
 * When the service first had a claim that it has lost, by its own promise: the leaf there covers the claim and its time.
 * Null if the promise is not by a key in use of the service's list, or not for this work of the robot. A retired key may
 * be stolen.
 */
export async function promisedClaimTime(
  { store, settings }: Pick<Deps, 'store' | 'settings'>,
  task: { id: string; robotId: string; claim: Omit<ClaimContent, 'created_at'> },
  { promise: text, proof_hash, statement_hash }: Promised,
): Promise<number | null> {
  const read = orNull(() => readPromise(text), [DocumentError]);
  if (read === null) return null;
  const { origin, chain_id } = read.promise;
  const accounts = await store.listAnchoringAccounts();
  const keys = accounts.flatMap(({ promiseKey, chainId, lastBlock }) =>
    promiseKey !== null && chainId === chain_id && lastBlock === null ? [promiseKey] : [],
  );
  const key = keys.find((one) => thumbprintOf(one) === read.header.kid);
  if (key === undefined || origin !== settings.baseUrl) return null;
  const isSigned = await openKey(key);
  if (!(await isSigned(read.signed, read.signature))) return null;
  const promised = read.promise.leaves.find(({ task_id }) => task_id === task.id);
  if (promised === undefined) return null;
  const { created_at } = promised;
  const claim_hash = await runYielding(hashClaimInPieces({ ...task.claim, created_at }));
  const { id: task_id, robotId: robot_id } = task;
  const leaf = leafHash({ proof_hash, task_id, robot_id, claim_hash, statement_hash });
  return leaf === promised.leaf ? Date.parse(created_at) : null;
}
