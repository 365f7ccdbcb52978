// Caches member names during parsing, so that equal names share one string.
const QUOTE = 0x22;

/** Maximum number of cached names. */
const MOST_NAMES = 256;

/** A name, and the name that followed it the last time. */
interface KnownName {
  readonly text: string;
  next: KnownName | null;
}

/**
 * Cache of member names. The objects of a document mostly have the same names in the same order, so a name that is
 * where it was before need not be read again.
 */
export class KnownNames {
  readonly #names = new Map<string, KnownName>();
  #last: KnownName = { text: '', next: null };

  /** The name that followed the current one the last time, if `text` has it at `at` before a quote. It becomes current. */
  at(text: string, at: number): string | null {
    const expected = this.#last.next;
    if (expected === null) return null;
    const name = expected.text;
    if (text.charCodeAt(at + name.length) !== QUOTE || !text.startsWith(name, at)) return null;
    this.#last = expected;
    return name;
  }

  /** Adds a name that the text contains without escapes, and makes it current. */
  met(name: string): void {
    let known = this.#names.get(name);
    if (known === undefined) {
      if (this.#names.size === MOST_NAMES) return;
      known = { text: name, next: null };
      this.#names.set(name, known);
    }
    this.#last.next = known;
    this.#last = known;
  }
}
