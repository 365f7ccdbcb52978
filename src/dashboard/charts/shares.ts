// Shares of states, for people. Its own file, so that the overview does not load the charts of a robot.
import type { States } from './series.ts';

/** Errors first, then the largest share first. */
export function sharesOf(states: States | null) {
  const all = Object.entries(states ?? {});
  const samples = all.reduce((sum, [, count]) => sum + count, 0);
  const isError = ([state]: [string, number]) => Number(state === 'error');
  return all
    .sort((a, b) => isError(b) - isError(a) || b[1] - a[1])
    .map(([state, count]) => ({
      state,
      count,
      text: `${nameOf(state)} ${percent(count, samples)}`,
    }));
}

/** Never 0 % of what there is, and never 100 % of a part. */
function percent(count: number, of: number): string {
  const rounded = Math.round((100 * count) / of);
  if (count < of && rounded === 100) return '> 99 %';
  return rounded === 0 ? '< 1 %' : `${rounded} %`;
}

export const nameOf = (state: string) => state || 'no state';
