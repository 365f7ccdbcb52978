// Decides who may store how many bytes, and counts the bytes of a row.

export interface StorageLimits {
  /** Shared by all accounts without a recent grant. */
  poolBytes: number;
  /** For each account with a recent grant. */
  accountBytes: number;
}

/** An account's usage in bytes, each with what is in flight and without the new row. */
interface StorageSituation {
  /** Whether the operator granted the account credits in the last 90 days. */
  isFunded: boolean;
  account: number;
  /** Usage of all accounts without a recent grant, this one included, each counted up to `poolShare`. */
  pool: number;
}

/** An operator's grant funds the account for this time. */
export const FUNDED_MS = 90 * 24 * 60 * 60_000;

/** One account of the pool may hold at most this fraction of what the others leave free. */
const PARTS = 8;

/** The most that one account counts in the pool: its grant may have ended after it stored more. */
export function poolShare({ poolBytes }: StorageLimits): number {
  return Math.floor(poolBytes / PARTS);
}

/** Whether the account may store `bytes` more. No number of accounts fills the pool, so a new one always finds some. */
export function mayStore(
  { isFunded, account, pool }: StorageSituation,
  bytes: number,
  limits: StorageLimits,
): boolean {
  if (isFunded) return account + bytes <= limits.accountBytes;
  const others = pool - Math.min(account, poolShare(limits));
  return account + bytes <= (limits.poolBytes - others) / PARTS;
}

/** Stands for a row's other columns and its index entries. */
export const ROW_BYTES = 256;

/** Bytes of a row with these texts of the caller. */
export function rowBytes(...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), ROW_BYTES);
}

/** The `rowBytes` of all samples. */
export function samplesBytes(samples: readonly { metrics: string }[]): number {
  return samples.reduce((sum, { metrics }) => sum + rowBytes(metrics), 0);
}

/** `sealed`: the encrypted evidence. */
export function proofBytes(sealed: Uint8Array): number {
  return ROW_BYTES + sealed.length;
}
