import type { LedgerRecord, ListedSession, SignInMethod } from '../core/account-store.ts';

export interface LedgerRow {
  seq: number;
  kind: LedgerRecord['kind'];
  anchors: number;
  gas_wei: string;
  task_id: string | null;
  cycle: number | null;
  grant_id: string | null;
  note: string | null;
  at: number;
}

export interface ListedSessionRow {
  id: string;
  signed_in_with: SignInMethod;
  created_at: number;
  expires_at: number;
}

export function toLedgerRecord(row: LedgerRow): LedgerRecord {
  const { gas_wei, task_id, grant_id, ...entry } = row;
  return { ...entry, gasWei: BigInt(gas_wei), taskId: task_id, grantId: grant_id };
}

export function toListedSession(row: ListedSessionRow): ListedSession {
  return {
    id: row.id,
    signedInWith: row.signed_in_with,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
