import { sized } from './quick.js';

const ROUNDS = sized(3, 1);

/**
 * Measures a figure and its raw limit by turns: a machine that others share does more in one minute than in the next.
 * Answers the median of each, and of the ratios of the rounds.
 *
 * @param {{ measured: () => Promise<number>, raw: () => Promise<number> }} of
 */
export async function byTurns({ measured, raw }) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const figures = { measured: await measured(), raw: await raw() };
    rounds.push({ ...figures, ratio: figures.measured / figures.raw });
  }
  return {
    measured: median(rounds.map((round) => round.measured)),
    raw: median(rounds.map((round) => round.raw)),
    ratio: median(rounds.map((round) => round.ratio)),
  };
}

function median(figures) {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
}
