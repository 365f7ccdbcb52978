// The result of counting a call against its rate limit.

/** A call counted in a fixed window. A refused call consumes nothing. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Milliseconds until the window ends, 1 to 60 000. */
  resetMs: number;
}
