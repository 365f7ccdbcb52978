import { it } from 'vitest';

/** A test of a property: a fifth of the generated cases in `npm test`, all of them in `npm run test:full`. */
export function itHolds(
  name: string,
  cases: number,
  check: (numRuns: number) => void | Promise<void>,
): void {
  it(name, () => check(process.env.TEST_CASES === 'all' ? cases : cases / 5));
}
