import type { OperationsStore } from '../../core/operations-store.ts';
import type { Access } from './access.ts';
import { nextNonceReader, openAttemptReader } from './attempts.ts';
import { holdQueue, liftHold } from './hold.ts';

export function operationsStore(
  { reader, writer, write, read }: Access,
  hasRoom: () => Promise<boolean>,
): OperationsStore {
  const queued = reader.prepare<[], { total: number }>(
    `SELECT count(*) AS total FROM completions WHERE state = 'queued'`,
  );
  const oldest = reader.prepare<[], { queued_at: number }>(
    `SELECT queued_at FROM completions WHERE state = 'queued' ORDER BY reserve_seq LIMIT 1`,
  );
  // The condition is the index's own, word for word, or the index cannot serve it.
  const submitted = reader.prepare<[], { total: number }>(
    `SELECT total(unsettled_leaves) AS total FROM attempts INDEXED BY attempts_open
     WHERE state IN ('signed', 'submitted', 'reorged')
       OR (state IN ('included', 'finalized') AND unsettled_leaves > 0)`,
  );
  const senders = reader.prepare<[], { chain_id: number; address: string }>(
    'SELECT chain_id, address FROM leases ORDER BY chain_id, address',
  );
  const nextNonce = nextNonceReader(reader);
  const openAttempts = openAttemptReader(reader);

  return {
    hasRoom,

    readBacklog: () =>
      read(() => ({
        queued: queued.get()?.total ?? 0,
        oldestQueuedAt: oldest.get()?.queued_at ?? null,
        submitted: submitted.get()?.total ?? 0,
      })),

    holdQueue: (now) => write(() => holdQueue(writer, now)),

    liftHold: (senders, now) => write(() => liftHold(writer, senders, now)),

    listSenders: () =>
      read(() =>
        senders.all().map(({ chain_id: chainId, address }) => ({
          chainId,
          address,
          nextNonce: nextNonce({ chainId, sender: address }),
          openAttempts: openAttempts({ chainId, sender: address }),
        })),
      ),
  };
}
