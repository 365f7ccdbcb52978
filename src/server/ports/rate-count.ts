// How a call counted against its rate limit.

/** A call measured against a fixed window. A refused call consumes nothing. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window ends, 1 to 60 000. */
  resetMs: number;
}
