// Runs a computation in steps to its end.

/** The result of the computation. `onStep` is called with what it yields at each step. */
export function runSteps<Step, Result>(
  steps: Generator<Step, Result>,
  onStep?: (step: Step) => void,
): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    onStep?.(value);
  }
}
