// Checks that the statements of a key are complete: none is missing, and none exists twice.
import type { Hex } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';

/** A statement of one key, or what is left of it when its task was deleted. */
export interface SequenceItem {
  readonly number: number;
  /** SHA-256 of header and payload. */
  readonly signedHash: Hex;
  /** Null if only the hash is left. */
  readonly statement: { readonly prev: Hex | null; readonly epoch: string } | null;
}

/** Numbers from `first` to `last`. */
export interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** What the statements of a key show. Lists have at most `MOST_LISTED` entries; `isSound` covers all. */
export interface SequenceReport {
  /** The first number that the key text allows, and the last one that was seen; null without statements. */
  readonly range: NumberRange | null;
  readonly isSound: boolean;
  /** Numbers that no statement has. */
  readonly missing: readonly NumberRange[];
  /** Numbers under which one start of the agent signed two different statements. */
  readonly forks: readonly number[];
  /** Numbers at which two starts of the agent continued the same statement: a restored or copied disk. */
  readonly branches: readonly number[];
  /** Numbers of statements that do not continue any statement before them. */
  readonly broken: readonly number[];
  /** Number of statements of which only the hash is left. */
  readonly withheld: number;
}

const MOST_LISTED = 20;

/** Checks the statements of one key in the order of their numbers, in constant memory. */
export class Sequence {
  readonly #first: number;
  readonly #missing: NumberRange[] = [];
  readonly #forks: number[] = [];
  readonly #branches: number[] = [];
  readonly #broken: number[] = [];
  #isSound = true;
  #withheld = 0;
  /** The statements with the last number that was seen, and those with the number before. */
  #last: SequenceItem[] = [];
  #before: readonly SequenceItem[] = [];

  constructor(firstNumber: number) {
    this.#first = firstNumber;
  }

  /**
   * Returns false for an item that was added before.
   * @throws DocumentError if the number is lower than that of the item before, or than the first one.
   */
  add(item: SequenceItem): boolean {
    const lastNumber = this.lastNumber;
    if (item.number < Math.max(lastNumber, this.#first)) {
      throw new DocumentError('archive', 'the statements are not in the order of their numbers');
    }
    if (item.number > lastNumber) {
      const isNext = item.number === lastNumber + 1;
      if (!isNext) this.#note(this.#missing, { first: lastNumber + 1, last: item.number - 1 });
      this.#before = isNext ? this.#last : [];
      this.#last = [];
    }
    if (this.#last.some(({ signedHash }) => signedHash === item.signedHash)) return false;
    this.#compare(item);
    if (this.#last.length < MOST_LISTED) this.#last.push(item);
    if (item.statement === null) this.#withheld += 1;
    return true;
  }

  /** One less than the first number without statements. */
  get lastNumber(): number {
    return this.#last[0]?.number ?? this.#first - 1;
  }

  #compare({ number, statement }: SequenceItem): void {
    // Two statements have this number, and the text of one is withheld: it may be a fork or a branch.
    const isHidden = this.#last.some((one) => one.statement === null);
    if (this.#last.length > 0 && (isHidden || statement === null)) {
      this.#note(this.#branches, number);
    }
    if (statement === null) return;
    const { epoch, prev } = statement;
    const others = this.#last.flatMap((one) => one.statement ?? []);
    if (others.some((one) => one.epoch === epoch)) this.#note(this.#forks, number);
    else if (others.some((one) => one.prev === prev)) this.#note(this.#branches, number);
    const isFirst = number === this.#first;
    const continues = isFirst
      ? prev === null
      : this.#before.length === 0 || this.#before.some((one) => one.signedHash === prev);
    if (!continues) this.#note(this.#broken, number);
  }

  #note<Fault>(faults: Fault[], fault: Fault): void {
    this.#isSound = false;
    if (faults.length < MOST_LISTED) faults.push(fault);
  }

  /** Numbers up to `upTo` must be there. */
  report(upTo = 0): SequenceReport {
    const [last] = this.#last;
    const isCut = this.lastNumber < upTo;
    return {
      range: last === undefined ? null : { first: this.#first, last: last.number },
      isSound: this.#isSound && !isCut,
      missing: isCut
        ? [...this.#missing, { first: this.lastNumber + 1, last: upTo }]
        : this.#missing,
      forks: this.#forks,
      branches: this.#branches,
      broken: this.#broken,
      withheld: this.#withheld,
    };
  }
}
