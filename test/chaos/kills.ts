import { faultPoints } from './fault-points.ts';
import { type Random, randomOf } from './random.ts';

/** Null: at an instant that nothing but chance decides. */
export interface PlannedKill {
  readonly point: string | null;
  /** How often the point is passed before; counted from 1. */
  readonly count: number;
}

/** Of the kills, those at an instant and not at a point. */
const AT_AN_INSTANT = 0.15;

/**
 * The kills of one run. Runs go through the fault points one after another, in an order that the seed
 * decides, so that any of them repeats by itself and all together leave out no point.
 */
export function planKills(seed: string, run: number, kills: number): PlannedKill[] {
  const order = randomOf(`${seed}/points`).shuffled([...faultPoints.keys()]);
  const random = randomOf(`${seed}/${run}/kills`);
  return Array.from({ length: kills }, (_, i) =>
    i === 0 || random.chance(AT_AN_INSTANT)
      ? { point: null, count: 1 }
      : { point: order[(run * (kills - 1) + i - 1) % order.length] ?? null, count: count(random) },
  );
}

function count(random: Random): number {
  return random.chance(0.5) ? 1 : random.between(2, 5);
}
