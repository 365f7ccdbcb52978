// Lists the accounts that held a lease, with their work in progress.

import type { OperationsStore } from '../../ports/operations.ts';
import { nextNonceReader, openAttemptReader } from './anchor-attempts.ts';
import type { Access } from './engine/connections.ts';

export function senderStore({ reader, read }: Access): Pick<OperationsStore, 'listSenders'> {
  const senders = reader.prepare<[], { chain_id: number; address: string }>(
    'SELECT chain_id, address FROM leases ORDER BY chain_id, address',
  );
  const nextNonce = nextNonceReader(reader);
  const openAttempts = openAttemptReader(reader);

  return {
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
