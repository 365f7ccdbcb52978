/** Begins the name of a holder that has no key: it follows what is open of the account, and signs nothing. */
export const FOLLOWER = 'follower ';

/** Whether a holder takes the lease of another at once: one that has the key, from one that only follows. */
export function goesBefore(holder: string, other: string): boolean {
  return other.startsWith(FOLLOWER) && !holder.startsWith(FOLLOWER);
}
