// Work of a stage that runs concurrently with the anchor loop.

import type { AnchoringContext } from './context.ts';

export class Background {
  protected readonly context: AnchoringContext;
  #underWay: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;
  readonly #wake: () => void;

  /** `wake` is called at the end of each run. */
  constructor(context: AnchoringContext, wake: () => void) {
    this.context = context;
    this.#wake = wake;
  }

  /** Whether a run is in progress. */
  get isBusy(): boolean {
    return this.#underWay !== null;
  }

  /** Resolves when no run is in progress. */
  async end(): Promise<void> {
    await this.#underWay;
  }

  protected run(work: Promise<void>): void {
    this.#underWay = work
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        this.#underWay = null;
        this.#wake();
      });
  }

  /** Throws the error that ended the last run, once. */
  protected throwFailure(): void {
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure.error;
  }
}
