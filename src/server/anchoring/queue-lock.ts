// Lets one account loop of this process take from the queue at a time.
export interface QueueLock {
  /** Whether somebody is inside. */
  readonly isTaken: boolean;
  /** False when somebody else is inside; `wake` is called once the way is free. */
  enter(wake: () => void): boolean;
  leave(): void;
}

/** Lets one engine of this process at a time take from the queue, so that no two sign the same proofs. */
export function createQueueLock(): QueueLock {
  let isTaken = false;
  const waiting = new Set<() => void>();
  return {
    get isTaken() {
      return isTaken;
    },
    enter(wake) {
      if (isTaken) {
        waiting.add(wake);
        return false;
      }
      isTaken = true;
      return true;
    },
    leave() {
      isTaken = false;
      const waiters = [...waiting];
      waiting.clear();
      for (const wake of waiters) wake();
    },
  };
}
