import { faultPoints } from './fault-points.ts';
import { type Random, randomOf } from './random.ts';

/** Null: at an instant that nothing but chance decides. */
export interface PlannedKill {
  readonly point: string | null;
  /** How often the point is passed before; counted from 1. */
  readonly count: number;
}

/** Kills at an instant for each time that all fault points are gone through. */
const INSTANTS = 12;

/**
 * The kills of one run. Runs go through the fault points one after another, in an order that the seed
 * decides, so that any of them repeats by itself and all together leave out no point.
 */
export function planKills(seed: string, run: number, kills: number): PlannedKill[] {
  const instants = Array.from({ length: INSTANTS }, () => null);
  const order = randomOf(`${seed}/points`).shuffled([...faultPoints.keys(), ...instants]);
  const random = randomOf(`${seed}/${run}/kills`);
  return Array.from({ length: kills }, (_, i) => {
    const point = order[(run * kills + i) % order.length] ?? null;
    return { point, count: point === null ? 1 : countOf(point, random) };
  });
}

/** Only what comes by work alone comes again and again. */
function countOf(point: string, random: Random): number {
  const isFrequent = faultPoints.get(point) === 'work' && random.chance(0.5);
  return isFrequent ? random.between(2, 5) : 1;
}
