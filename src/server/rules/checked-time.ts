// Decides whether the wall clock of a machine is plausible.

/** The largest step that a wall clock may make, forwards or backwards. */
const MAX_STEP_MS = 24 * 60 * 60_000;

/**
 * Whether the wall clock is within 24 hours of the checked time, or of the newest block of the chain if that block is
 * later. The machine may have been off for weeks, and then only the chain knows the time. A chain that stands still or
 * cannot be reached (`null`) proves nothing: it makes no clock implausible.
 */
export function isPlausible(
  wallMs: number,
  { checkedMs, newestBlockMs }: { checkedMs: number; newestBlockMs: number | null },
): boolean {
  const isNear = (ms: number) => Math.abs(wallMs - ms) <= MAX_STEP_MS;
  const isVouched = newestBlockMs !== null && newestBlockMs > checkedMs && isNear(newestBlockMs);
  return isNear(checkedMs) || isVouched;
}
