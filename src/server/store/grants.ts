import { fault } from '../core/fault.ts';
import type { Balance, Grant } from '../core/ports.ts';
import type { LedgerEntry } from './ledger-entry.ts';

export interface GrantRow {
  wallet: string;
  anchors: number;
  gas_wei: string;
  note: string;
}

export function grantEntry({ id, wallet, anchors, gasWei, note, now }: Grant): LedgerEntry {
  return { kind: 'grant', wallet, anchors, gasWei, grantId: id, note, at: now };
}

/** @throws SvcError `id_conflict` */
export function requireSameGrant(stored: GrantRow, grant: Grant): void {
  const isSame =
    stored.wallet === grant.wallet &&
    stored.anchors === grant.anchors &&
    BigInt(stored.gas_wei) === grant.gasWei &&
    stored.note === grant.note;
  if (!isSame) throw fault('id_conflict', 'This id belongs to another grant.');
}

/** @throws SvcError `invalid_request` */
export function requireRoom(balance: Balance, grant: Grant): void {
  const anchors = balance.anchorQuota + grant.anchors;
  if (grant.anchors < 0 || grant.gasWei < 0n || !Number.isSafeInteger(anchors)) {
    throw fault('invalid_request', 'A grant adds whole anchors and wei, up to 2^53 - 1 anchors.');
  }
}
