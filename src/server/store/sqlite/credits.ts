import { fault } from '../../core/fault.ts';
import type { Balance, CreditStore, Grant } from '../../core/ports.ts';
import type { Access } from './access.ts';
import { balanceStatement, type Ledger, toBalance } from './ledger.ts';

interface GrantRow {
  wallet: string;
  anchors: number;
  gas_wei: string;
  note: string;
}

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
          if (!isSameGrant(stored, grant)) {
            throw fault('id_conflict', 'This id belongs to another grant.');
          }
          return {
            outcome: 'repeated' as const,
            balance: existing(ledger.balanceOf(grant.wallet)),
          };
        }
        ledger.openAccount(grant.wallet, grant.now);
        requireRoom(existing(ledger.balanceOf(grant.wallet)), grant);
        ledger.post({
          kind: 'grant',
          wallet: grant.wallet,
          anchors: grant.anchors,
          gasWei: grant.gasWei,
          grantId: grant.id,
          note: grant.note,
          at: grant.now,
        });
        return { outcome: 'granted' as const, balance: existing(ledger.balanceOf(grant.wallet)) };
      }),

    getBalance: (wallet) => read(() => toBalance(balance.get(wallet))),
  };
}

function isSameGrant(stored: GrantRow, grant: Grant): boolean {
  return (
    stored.wallet === grant.wallet &&
    stored.anchors === grant.anchors &&
    BigInt(stored.gas_wei) === grant.gasWei &&
    stored.note === grant.note
  );
}

function requireRoom(balance: Balance, grant: Grant): void {
  const anchors = balance.anchorQuota + grant.anchors;
  if (grant.anchors < 0 || grant.gasWei < 0n || !Number.isSafeInteger(anchors)) {
    throw fault('invalid_request', 'A grant adds whole anchors and wei, up to 2^53 - 1 anchors.');
  }
}

function existing(balance: Balance | null): Balance {
  if (balance === null) throw new Error('The account of a grant is missing');
  return balance;
}
