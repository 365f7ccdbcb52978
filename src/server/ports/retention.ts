// What retention asks of the store.
/**
 * What is deleted in small steps; each step is a short commit of its own, of at least one row. Roll-ups by hour
 * and day stay.
 */
export interface RetentionStore {
  /**
   * Deletes at most `limit` samples recorded before that time, of the next robot after `cursor` that has
   * any, and the roll-ups of the minutes before the oldest one that is left. Answers the cursor of the next
   * step, null when there is nothing left to do.
   */
  deleteSamples(before: number, limit: number, cursor: string | null): Promise<string | null>;
  /**
   * Deletes at most `limit` of the oldest events that the service took before that time; answers whether there
   * may be more.
   */
  deleteEvents(before: number, limit: number): Promise<boolean>;
  /** Deletes at most `limit` samples, roll-ups or events of deleted robots; answers whether there may be more. */
  deleteTraces(limit: number): Promise<boolean>;
}
