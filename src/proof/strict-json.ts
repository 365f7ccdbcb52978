// Parses strict JSON: no duplicate names, no rounded integers, bounded depth.
import { becomesAnotherInteger } from './integer-literal.ts';
import type { JsonObject, JsonValue } from './json-value.ts';
import { runSteps } from './run-steps.ts';
import { CHANGED_INTEGER, placeIn, pointerStep, StrictJsonError } from './strict-json-error.ts';

/** Maximum nesting of a proof: 128 nested arrays pass, 129 do not. */
export const MAX_PROOF_DEPTH = 128;

/** Limits of the parser. */
export interface StrictJsonOptions {
  /** Maximum nesting. A scalar has depth 0, `[]` has depth 1. */
  readonly maxDepth?: number;
  /**
   * Maximum number of values, including containers. Default: no limit. A document of n values has at least 2n − 1 bytes
   * in canonical form, so a limit in bytes implies a limit in values (`mostValuesIn`). A text with more values is not
   * read to its end.
   */
  readonly maxValues?: number;
  /**
   * Called with the JSON Pointer of each number that is not zero and becomes zero as a double, such as `1e-400`. Without
   * it such a number is refused. Evidence that was anchored before the service refused these still verifies.
   */
  readonly onUnderflow?: (pointer: string) => void;
  /**
   * `round`: finite numbers that no double holds become the nearest double. `string`: integers beyond ±(2^53 − 1) become
   * strings of their text; other numbers are read as by default. Default: refuses what a double would change.
   */
  readonly numbers?: 'round' | 'string' | undefined;
  /**
   * Called with the first fault inside an item of an array that is a member of the document, and with the item's text.
   * The result takes the item's place, and reading goes on. Without it, and if it is undefined, the text is refused.
   */
  readonly onItemFault?:
    | ((fault: StrictJsonError, text: string) => JsonValue | undefined)
    | undefined;
}

export interface ParseOptions extends StrictJsonOptions {
  /** Called from time to time with the number of characters read so far. */
  readonly onRead?: (characters: number) => void;
}

/** The maximum number of values in a document with this many canonical bytes. */
export function mostValuesIn(canonicalBytes: number): number {
  return Math.floor((canonicalBytes + 1) / 2);
}

/**
 * Parses a JSON text (RFC 8259). Refuses what RFC 8785 would change silently: duplicate names, lone surrogates, numbers
 * beyond the IEEE 754 range or too small for it, and integers whose canonical text denotes another integer. Also refuses
 * nesting beyond `maxDepth` and a member named `__proto__`.
 *
 * A text that is not JSON is reported as `syntax`, even if it has other faults. Otherwise the first fault in document
 * order is reported. Parsing stops at `maxValues`, and reports the first fault before that place, or `size`. Time and
 * memory are linear in the length of the text, and the stack does not grow with the nesting.
 *
 * @throws StrictJsonError
 */
export function parseStrictJson(text: string, options: ParseOptions = {}): JsonValue {
  return runSteps(readStrictJson(text, options), options.onRead);
}

/** As `parseStrictJson`, in steps. Yields the number of characters read so far. */
export function readStrictJson(
  text: string,
  options: StrictJsonOptions = {},
): Generator<number, JsonValue> {
  return new Parser(text, options).parse();
}

/** Open containers around an item of an array that is a member of the document. */
const ITEM_DEPTH = 2;

/** Values per step: about a millisecond of work if each is an object. */
const PAUSE_EVERY = 1024;

/** For arrays with fewer items, the engine's spare room is larger than a copy of the array. */
const SPARE_ITEMS = 17;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Every decimal with this many significant digits survives conversion to a double, with any exponent: the shortest text
 * of that double denotes the same number.
 */
const EXACT_DIGITS = 15;

const FIRST_SURROGATE = 0xd800;
const BYTE_ORDER_MARK = 0xfeff;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Powers of 10 by exponent. Each is exact as a double. */
const POWERS = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);

/** An open container, and the name of its current member if it is an object. */
type Frame = ArrayFrame | ObjectFrame;
type ArrayFrame = { items: JsonValue[] };
type ObjectFrame = { items: null; members: JsonObject; name: string };

// After a fault only the syntax is checked. Shared frames keep hostile nesting cheap.
const SKIPPED_ARRAY: ArrayFrame = { items: [] };
const SKIPPED_OBJECT: ObjectFrame = { items: null, members: {}, name: '' };

class Parser {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #options: StrictJsonOptions;
  readonly #open: Frame[] = [];
  #at = 0;
  /** Where the current item of an array that is a member of the document begins. */
  #itemAt = 0;
  #values = 0;
  /** Whether the last string may contain a surrogate. */
  #wide = false;
  #fault: StrictJsonError | undefined;

  constructor(text: string, options: StrictJsonOptions) {
    const { maxDepth = MAX_PROOF_DEPTH, maxValues = Number.POSITIVE_INFINITY } = options;
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#maxValues = maxValues;
    this.#options = options;
  }

  *parse(): Generator<number, JsonValue> {
    for (;;) {
      if (this.#values % PAUSE_EVERY === PAUSE_EVERY - 1) yield this.#at;
      let value = this.#begin();
      while (value !== undefined) {
        const frame = this.#open.at(-1);
        if (frame === undefined) return this.#end(value);
        value = this.#attach(frame, value);
      }
    }
  }

  /** A complete scalar or empty container; undefined if a container was opened. */
  #begin(): JsonValue | undefined {
    const code = this.#token();
    this.#values++;
    if (this.#values > this.#maxValues) throw this.#fault ?? this.#sizeError();
    if (code === QUOTE) return this.#stringValue();
    if (code === OPEN_OBJECT) return this.#openObject();
    if (code === OPEN_ARRAY) return this.#openArray();
    if (code === MINUS || isDigit(code)) return this.#number();
    if (this.#word('true')) return true;
    if (this.#word('false')) return false;
    if (this.#word('null')) return null;
    throw this.#text.charCodeAt(0) === BYTE_ORDER_MARK
      ? new StrictJsonError('syntax', '', 'The text begins with a byte order mark: send it without')
      : this.#syntaxError('expected a value');
  }

  #openObject(): JsonValue | undefined {
    this.#enter();
    const members: JsonObject = {};
    if (this.#token() === CLOSE_OBJECT) {
      this.#at++;
      return members;
    }
    const frame: ObjectFrame = this.#fault ? SKIPPED_OBJECT : { items: null, members, name: '' };
    this.#open.push(frame);
    this.#name(frame);
    return undefined;
  }

  #openArray(): JsonValue | undefined {
    this.#enter();
    const items: JsonValue[] = [];
    if (this.#token() === CLOSE_ARRAY) {
      this.#at++;
      return items;
    }
    this.#open.push(this.#fault ? SKIPPED_ARRAY : { items });
    if (this.#open.length === ITEM_DEPTH) this.#itemAt = this.#at;
    return undefined;
  }

  #enter(): void {
    this.#at++;
    if (this.#open.length >= this.#maxDepth) {
      this.#refuse(`Nesting goes deeper than ${this.#maxDepth} levels`);
    }
  }

  /** Adds a value to its container. Returns the container if it is now complete. */
  #attach(frame: Frame, value: JsonValue): JsonValue | undefined {
    if (frame.items !== null) {
      const item = this.#fault === undefined ? value : this.#itemOf(frame, this.#fault);
      if (item !== undefined) frame.items.push(item);
      const code = this.#token();
      if (code !== COMMA && code !== CLOSE_ARRAY) throw this.#syntaxError('expected "," or "]"');
      this.#at++;
      if (this.#open.length === ITEM_DEPTH) this.#itemAt = this.#at;
      if (code === COMMA) return undefined;
      this.#open.pop();
      // The first item allocated room for 17. Most arrays are small, and evidence may contain millions of them.
      return frame.items.length < SPARE_ITEMS ? frame.items.slice() : frame.items;
    }
    if (this.#fault === undefined) frame.members[frame.name] = value;
    const code = this.#token();
    if (code !== COMMA && code !== CLOSE_OBJECT) throw this.#syntaxError('expected "," or "}"');
    this.#at++;
    if (code === COMMA) {
      this.#name(frame);
      return undefined;
    }
    this.#open.pop();
    return frame.members;
  }

  /** What takes the place of an item with a fault; undefined for nothing. */
  #itemOf(frame: Frame, fault: StrictJsonError): JsonValue | undefined {
    // A skipped frame was opened after the fault, which is then outside of it.
    if (this.#open.length !== ITEM_DEPTH || frame === SKIPPED_ARRAY) return undefined;
    const item = this.#options.onItemFault?.(fault, this.#text.slice(this.#itemAt, this.#at));
    if (item !== undefined) this.#fault = undefined;
    return item;
  }

  #end(value: JsonValue): JsonValue {
    if (!Number.isNaN(this.#token())) throw this.#syntaxError('expected the end of the text');
    if (this.#fault) throw this.#fault;
    return value;
  }

  #name(frame: ObjectFrame): void {
    if (this.#token() !== QUOTE) throw this.#syntaxError('expected a member name in double quotes');
    const name = this.#string();
    if (this.#token() !== COLON) throw this.#syntaxError('expected ":"');
    this.#at++;
    if (this.#fault) return;
    if (this.#wide && LONE_SURROGATE.test(name)) {
      // A pointer with such a name cannot be sent as UTF-8, so point to the object.
      this.#refuse('A member name contains a lone surrogate', this.#open.slice(0, -1));
      return;
    }
    frame.name = name;
    if (name === '__proto__') this.#refuse('A member must not be named __proto__');
    else if (Object.hasOwn(frame.members, name)) this.#refuse('The member name is used twice');
  }

  #stringValue(): string {
    const value = this.#string();
    if (this.#wide && LONE_SURROGATE.test(value))
      this.#refuse('The string contains a lone surrogate');
    return value;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    let escaped = false;
    let greatest = 0;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code > greatest) greatest = code;
      if (code === BACKSLASH) {
        escaped = true;
        at++;
      } else if (!(code >= 0x20)) {
        this.#at = at;
        throw this.#syntaxError(
          Number.isNaN(code) ? 'unterminated string' : 'bare control character in a string',
        );
      }
      at++;
    }
    this.#at = at + 1;
    this.#wide = escaped || greatest >= FIRST_SURROGATE;
    if (!escaped) return text.slice(start + 1, at);
    try {
      return JSON.parse(text.slice(start, at + 1));
    } catch {
      this.#at = start;
      throw this.#syntaxError('invalid escape in the string');
    }
  }

  #number(): number | string {
    return this.#shortNumber() ?? this.#anyNumber();
  }

  /**
   * A number without exponent and with at most 15 digits, parsed without a substring: its digits as an integer and
   * the power of ten are exact doubles, so their quotient is the nearest double.
   */
  #shortNumber(): number | null {
    const text = this.#text;
    const isNegative = text.charCodeAt(this.#at) === MINUS;
    const start = isNegative ? this.#at + 1 : this.#at;
    let at = start;
    let digits = 0;
    let code = text.charCodeAt(at);
    for (; isDigit(code); code = text.charCodeAt(++at)) digits = digits * 10 + (code - ZERO);
    const whole = at - start;
    if (whole === 0 || (whole > 1 && text.charCodeAt(start) === ZERO)) return null;
    let decimals = 0;
    if (code === POINT) {
      const point = at;
      code = text.charCodeAt(++at);
      for (; isDigit(code); code = text.charCodeAt(++at)) digits = digits * 10 + (code - ZERO);
      decimals = at - point - 1;
      if (decimals === 0) return null;
    }
    if (whole + decimals > EXACT_DIGITS || (code | 0x20) === 0x65) return null;
    this.#at = at;
    const value = digits / (POWERS[decimals] as number);
    return isNegative ? -value : value;
  }

  #anyNumber(): number | string {
    const text = this.#text;
    const start = this.#at;
    if (text.charCodeAt(start) === MINUS) this.#at++;
    if (text.charCodeAt(this.#at) === ZERO) this.#at++;
    else this.#digits();
    const fractional = text.charCodeAt(this.#at) === POINT;
    if (fractional) {
      this.#at++;
      this.#digits();
    }
    const mantissaLength = this.#at - start;
    const scaled = (text.charCodeAt(this.#at) | 0x20) === 0x65;
    if (scaled) {
      this.#at++;
      const sign = text.charCodeAt(this.#at);
      if (sign === MINUS || sign === 0x2b) this.#at++;
      this.#digits();
    }
    const literal = text.slice(start, this.#at);
    const value = Number(literal);
    const isWritten = !fractional && !scaled && !Number.isSafeInteger(value);
    if (isWritten && this.#options.numbers === 'string') return literal;
    if (!Number.isFinite(value)) {
      this.#refuse('The number is beyond the range of an IEEE 754 double: send it as a string');
      return value;
    }
    if (this.#options.numbers === 'round') return value;
    if (value === 0 && /^-?[0.]*[1-9]/.test(literal)) this.#underflow();
    const certainlyKept =
      mantissaLength <= EXACT_DIGITS || (!scaled && fractional && !literal.endsWith('0'));
    if (!certainlyKept && becomesAnotherInteger(literal, value)) {
      this.#refuse(CHANGED_INTEGER);
    }
    return value;
  }

  #underflow(): void {
    const { onUnderflow } = this.#options;
    if (onUnderflow !== undefined) onUnderflow(pointerTo(this.#open));
    else this.#refuse('The number would become 0 as an IEEE 754 double: send it as a string');
  }

  #digits(): void {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at === start) throw this.#syntaxError('expected a digit');
  }

  #word(word: string): boolean {
    const found = this.#text.startsWith(word, this.#at);
    if (found) this.#at += word.length;
    return found;
  }

  /** The code unit of the next token; NaN at the end. */
  #token(): number {
    const text = this.#text;
    let at = this.#at;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) {
        this.#at = at;
        return code;
      }
      at++;
    }
  }

  #refuse(reason: string, place: readonly Frame[] = this.#open): void {
    this.#fault ??= new StrictJsonError('fault', pointerTo(place), reason);
  }

  #sizeError(): StrictJsonError {
    const reason = `The document holds more than ${this.#maxValues} values`;
    return new StrictJsonError('size', pointerTo(this.#open), reason);
  }

  #syntaxError(problem: string): StrictJsonError {
    const place = placeIn(this.#text, this.#at);
    return new StrictJsonError('syntax', '', `Not JSON: ${problem} at ${place}`);
  }
}

function pointerTo(place: readonly Frame[]): string {
  return place.map(referenceToken).join('');
}

function referenceToken(frame: Frame): string {
  return pointerStep(frame.items === null ? frame.name : String(frame.items.length));
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
