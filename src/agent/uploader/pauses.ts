/** Pauses of the uploader in milliseconds. Tests shorten them. */
export const PAUSES = {
  /** How often it looks by itself, at the key's file among others; everything that is new wakes it. */
  lookMs: 2_500,
  /** The newest samples go so often, whatever else waits. */
  liveEveryMs: 1_000,
  /** The key's file is read so often while its key does not work. */
  keyCheck: { firstMs: 2_000, maxMs: 2_000 },
  usual: { firstMs: 1_000, maxMs: 15 * 60_000 },
  /** Of a record whose answer was lost, which is seldom its own doing. */
  lost: { firstMs: 1_000, maxMs: 60_000 },
  poll: { firstMs: 4_000, maxMs: 60_000 },
  /** Without credits, or without a chain, one completion tries for all. */
  credits: { firstMs: 10_000, maxMs: 15 * 60_000 },
  /** Nothing is sent for so long when the spool cannot be written: what is sent would be sent again. */
  spool: { firstMs: 1_000, maxMs: 30_000 },
};

export type UploaderPauses = Readonly<typeof PAUSES>;
