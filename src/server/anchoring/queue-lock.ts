// Lets one account loop of a process sign at a time.

/** The lock on the queue, so that no two account loops of this process sign the same proofs. */
export class QueueLock {
  /** Whether a loop has the lock. */
  isTaken = false;
  #waiting: (() => void)[] = [];

  /** Takes the lock, or returns false if it is taken; `wake` is then called once it is free. */
  enter(wake: () => void): boolean {
    if (this.isTaken) {
      if (!this.#waiting.includes(wake)) this.#waiting.push(wake);
      return false;
    }
    this.isTaken = true;
    return true;
  }

  leave(): void {
    this.isTaken = false;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
