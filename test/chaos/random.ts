import { createHash } from 'node:crypto';

/** Repeatable chance: the same seed draws the same row. */
export interface Random {
  /** At least 0, below 1. */
  fraction(): number;
  /** Whole numbers, both ends included. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
  /** One of the names, the heavier the likelier. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name;
  shuffled<T>(list: readonly T[]): T[];
}

export function randomOf(seed: string): Random {
  // Mulberry32, by Tommy Ettinger.
  let state = createHash('sha256').update(seed).digest().readUInt32LE();
  const fraction = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) =>
    least + Math.floor(fraction() * (most - least + 1));
  return {
    fraction,
    between,
    chance: (probability) => fraction() < probability,
    pick(choices) {
      const choice = choices[between(0, choices.length - 1)];
      if (choice === undefined) throw new RangeError('Nothing to pick from');
      return choice;
    },
    weighted(weights) {
      const names = Object.keys(weights) as (keyof typeof weights)[];
      let left = fraction() * names.reduce((sum, name) => sum + weights[name], 0);
      const name = names.find((one) => {
        left -= weights[one];
        return left < 0;
      });
      if (name === undefined) throw new RangeError('Nothing has a weight');
      return name;
    },
    shuffled(list) {
      const rest = [...list];
      return list.map(
        () => rest.splice(between(0, rest.length - 1), 1)[0] as (typeof rest)[number],
      );
    },
  };
}
