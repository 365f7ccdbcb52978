// The store's contract for storage quotas.

/**
 * Usage is counted per account: tasks, evidence, samples and events. The counts are kept in memory and saved every 5 s.
 * A crash loses at most the last 5 s of them, and an instance sees the writes of others 5 s late. `recountStorage`
 * corrects the counts.
 */
export interface StorageStore {
  /**
   * Reserves room for a row of `bytes` until `release`, which the caller MUST call after the write, whatever its outcome.
   * `storage_quota`: the account, or the pool of accounts without a recent grant, has no room, or the disk is running
   * low and the account has no recent grant. `disk_full`: the disk has room for completions alone.
   */
  takeStorage(
    wallet: string,
    bytes: number,
    now: number,
  ): Promise<
    { outcome: 'taken'; release: () => void } | { outcome: 'storage_quota' | 'disk_full' }
  >;
  /** Counts all rows and corrects the saved usage. Returns how many accounts were wrong, and by how many bytes in all. */
  recountStorage(): Promise<{ accounts: number; bytes: number }>;
}
