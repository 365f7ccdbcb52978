import { it } from 'vitest';

/** A test of a property: a fifth of the generated cases always, all of them in the full suite. */
export function itHolds(
  name: string,
  cases: number,
  check: (numRuns: number) => void | Promise<void>,
): void {
  it(name, () => check(cases / 5));
  it(`${name} (${cases} cases)`, { tags: ['full'] }, () => check(cases));
}
