// Reads a body with samples of which JSON parsers would change some, so that these do not refuse the others.
import type { JsonObject, JsonValue } from '../../proof/json-value.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import type { WireError } from '../../protocol/schema-error.ts';

/** Takes the place of a sample that cannot be read. */
export class UnreadableSample {
  readonly text: string;
  readonly error: WireError;

  constructor(text: string, error: WireError) {
    this.text = text;
    this.error = error;
  }
}

/**
 * Parses a body whose first fault is inside a sample. The members of `samples` that cannot be parsed are replaced.
 * @throws what `parse` throws for a fault outside of the samples
 */
export function parseSamples(
  text: string,
  parse: (text: string) => JsonValue,
  errorOf: (fault: StrictJsonError) => WireError,
): JsonValue {
  const unreadable = new Map<number, UnreadableSample>();
  let readable = '';
  let end = 0;
  for (const [index, { from, to }] of slicesOf(text).entries()) {
    const sample = text.slice(from, to);
    const fault = faultIn(sample, index, parse);
    if (fault === null) continue;
    unreadable.set(index, new UnreadableSample(sample.trim(), errorOf(fault)));
    readable += `${text.slice(end, from)}null`;
    end = to;
  }
  const body = parse(readable + text.slice(end)) as { samples: JsonValue[] }; // The fault was in it.
  return { ...body, samples: body.samples.map((one, i) => unreadable.get(i) ?? one) } as JsonObject;
}

function faultIn(sample: string, index: number, parse: (text: string) => JsonValue) {
  try {
    // At its depth.
    parse(`{"samples":[${sample}]}`);
    return null;
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const pointer = error.pointer.replace('/samples/0', `/samples/${index}`);
    return new StrictJsonError(error.kind, pointer, error.reason);
  }
}

/** Where the items of the member `samples` are in a text that is JSON. */
function slicesOf(text: string): { from: number; to: number }[] {
  const slices: { from: number; to: number }[] = [];
  let [depth, from, name] = [0, -1, ''];
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/g)) {
    const isEnd = depth === 2 && from >= 0 && (token === ',' || token === ']');
    if (isEnd) slices.push({ from, to: index });
    if (isEnd && token === ',') from = index + 1;
    if (isEnd && token === ']') return slices;
    if (token.startsWith('"') && depth === 1) name = token;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if (token === '[' && depth === 2 && name === '"samples"') from = index + 1;
  }
  return slices;
}
