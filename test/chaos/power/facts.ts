/** The answers of a program under load, and when the disk must show them. */
import { Counts } from '../counts.ts';

/** What a program answered, and between which positions of the journal the disk must show it. */
export interface Fact {
  /** What it is about, for the report: `task`, `sample`, … */
  readonly kind: string;
  /** Identifies it on the disk, together with the kind. */
  readonly key: string;
  /** The journal's position when the answer arrived. */
  readonly from: number;
  /** The journal's position when a request was sent that may change it. */
  to: number;
}

export class Facts {
  readonly #position: () => number;
  readonly #all: Fact[] = [];

  constructor(position: () => number) {
    this.#position = position;
  }

  /** Call when the answer has arrived. */
  answered(kind: string, key: string): Fact {
    const fact = { kind, key, from: this.#position(), to: Number.POSITIVE_INFINITY };
    this.#all.push(fact);
    return fact;
  }

  /** Call before a request is sent that ends the fact. */
  end(fact: Fact): void {
    fact.to = this.#position();
  }

  /** How many of each kind. */
  counts(): Counts {
    const counts = new Counts();
    for (const { kind } of this.#all) counts.add(kind);
    return counts;
  }

  /** Positions at which answers arrived. */
  positions(): number[] {
    return this.#all.map(({ from }) => from);
  }

  /** What a disk that lost power at this position must show. */
  at(position: number): Fact[] {
    return this.#all.filter(({ from, to }) => from <= position && position < to);
  }
}
