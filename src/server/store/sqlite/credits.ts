import type { Balance, CreditStore } from '../../core/ports.ts';
import { type GrantRow, grantEntry, requireRoom, requireSameGrant } from '../grants.ts';
import type { Access } from './access.ts';
import { balanceStatement, type Ledger, toBalance } from './ledger.ts';

export function creditStore({ writer, reader, write, read }: Access, ledger: Ledger): CreditStore {
  const findGrant = writer.prepare<[string], GrantRow>(
    `SELECT wallet, anchors, gas_wei, note FROM ledger WHERE grant_id = ? AND kind = 'grant'`,
  );
  const balance = balanceStatement(reader);

  return {
    grantCredits: (grant) =>
      write(() => {
        const stored = findGrant.get(grant.id);
        if (stored !== undefined) {
          requireSameGrant(stored, grant);
          return {
            outcome: 'repeated' as const,
            balance: existing(ledger.balanceOf(grant.wallet)),
          };
        }
        ledger.openAccount(grant.wallet, grant.now);
        requireRoom(existing(ledger.balanceOf(grant.wallet)), grant);
        ledger.post(grantEntry(grant));
        return { outcome: 'granted' as const, balance: existing(ledger.balanceOf(grant.wallet)) };
      }),

    getBalance: (wallet) => read(() => toBalance(balance.get(wallet))),
  };
}

function existing(balance: Balance | null): Balance {
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
