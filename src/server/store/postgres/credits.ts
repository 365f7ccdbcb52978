import type { Balance, CreditStore } from '../../core/ports.ts';
import { type GrantRow, grantEntry, requireRoom, requireSameGrant } from '../grants.ts';
import type { Access } from './access.ts';
import type { Queries } from './connections.ts';
import { balanceOf, lockAccount, openAccount, postEntries } from './ledger.ts';
import { sql } from './sql.ts';

/** Of one grant id, whichever account it is for. */
const takeTurn = sql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');
const findGrant = sql(`SELECT wallet, anchors, gas_wei, note FROM ledger
  WHERE grant_id = $1 AND kind = 'grant'`);

export function creditStore(access: Access): CreditStore {
  return {
    grantCredits: (grant) =>
      access.write(async (tx) => {
        await tx.rows(takeTurn, [grant.id]);
        const stored = await tx.first<GrantRow>(findGrant, [grant.id]);
        if (stored !== undefined) {
          requireSameGrant(stored, grant);
          return { outcome: 'repeated', balance: await existing(tx, grant.wallet) };
        }
        await openAccount(tx, grant.wallet, grant.now);
        await lockAccount(tx, grant.wallet);
        requireRoom(await existing(tx, grant.wallet), grant);
        await postEntries(tx, [grantEntry(grant)]);
        return { outcome: 'granted', balance: await existing(tx, grant.wallet) };
      }),

    getBalance: (wallet) => balanceOf(access, wallet),
  };
}

async function existing(tx: Queries, wallet: string): Promise<Balance> {
  const balance = await balanceOf(tx, wallet);
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
