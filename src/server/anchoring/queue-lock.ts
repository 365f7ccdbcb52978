// The lock on the queue, so that no two account loops of this process sign the same proofs.

export interface QueueLock {
  readonly isTaken: boolean;
  /** Takes the lock, or returns false if it is taken; `wake` is then called once it is free. */
  enter(wake: () => void): boolean;
  leave(): void;
}

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
