// Remembers member names while it parses, so that equal names share one string.
const QUOTE = 0x22;

/** A document of many names is read without their memory. */
const MOST_NAMES = 256;

/** A name that was met, and the one that came after it the last time. */
interface KnownName {
  readonly text: string;
  next: KnownName | null;
}

/**
 * Names of members, of which a document's objects mostly have the same in the same order: one that stands where it
 * stood before is known without reading it again.
 */
export class KnownNames {
  readonly #names = new Map<string, KnownName>();
  #last: KnownName = { text: '', next: null };

  /** The name that came after the last one before, if it is what stands in `text` from `at` to a quote; then it is met. */
  at(text: string, at: number): string | null {
    const expected = this.#last.next;
    if (expected === null) return null;
    const name = expected.text;
    if (text.charCodeAt(at + name.length) !== QUOTE || !text.startsWith(name, at)) return null;
    this.#last = expected;
    return name;
  }

  /** A name came, which stands in the text as it is. */
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
