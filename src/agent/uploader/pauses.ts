/** Pauses of the uploader in milliseconds. Tests shorten them. */
export const PAUSES = {
  /** Maximum between two looks at the spool and the key file. New records wake the uploader earlier. */
  lookMs: 2_500,
  /** Between two uploads of the newest samples, whatever else waits. */
  liveEveryMs: 1_000,
  /** Between two reads of the key file while the key does not work. */
  keyCheck: { firstMs: 2_000, maxMs: 2_000 },
  /** Between two tries of a call or record that failed for any other reason. */
  usual: { firstMs: 1_000, maxMs: 15 * 60_000 },
  /** Between two tries of a record whose answer was lost: the record is seldom the cause. */
  lost: { firstMs: 1_000, maxMs: 60_000 },
  /** Between two looks at a completion that the service has accepted and not anchored yet. */
  poll: { firstMs: 4_000, maxMs: 60_000 },
  /** Between two tries while the account has no credits or the service no chain: one completion tries for all. */
  credits: { firstMs: 10_000, maxMs: 15 * 60_000 },
  /** Pause of all uploads while the spool cannot be written: what is sent would be sent again. */
  spool: { firstMs: 1_000, maxMs: 30_000 },
};

export type UploaderPauses = Readonly<typeof PAUSES>;
