// The store's contract for retention.

/**
 * Deletes old data in small steps. Each step is a short commit of its own and deletes at least one row, if there is
 * one. Hourly and daily roll-ups stay.
 */
export interface RetentionStore {
  /**
   * Deletes at most `limit` samples recorded before `before`, from the next robot after `cursor` that has any. Also
   * deletes the robot's minute roll-ups before its oldest remaining sample. Returns the cursor of the next step; null
   * when done.
   */
  deleteSamples(before: number, limit: number, cursor: string | null): Promise<string | null>;
  /**
   * Deletes at most `limit` of the oldest events that the service received before `before`. Returns whether there may
   * be more.
   */
  deleteEvents(before: number, limit: number): Promise<boolean>;
  /** Deletes at most `limit` samples, roll-ups or events of deleted robots. Returns whether there may be more. */
  deleteTraces(limit: number): Promise<boolean>;
}
