/** What differs from run to run, and is held to its form. What `isBound` says is also one value wherever a page shows it. */
const kinds: readonly { form: RegExp; isBound?: true }[] = [
  { form: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/, isBound: true },
  { form: /0x[0-9a-f]{64}(?![0-9a-f])/, isBound: true },
  { form: /0x[0-9a-fA-F]{40}(?![0-9a-fA-F])/, isBound: true },
  { form: /svc_[0-9a-f]{40}/, isBound: true },
  // A time, and how far an anchor has come by it.
  { form: /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?Z/ },
  { form: /\b\d+ confirmations?\b/ },
  { form: /\b(?:included|safe|finalized)\b/ },
  { form: /(?<="?block_number"?[: ]+"?)\d+/ },
  // The beginning of an id or a hash; amounts of wei; sizes.
  { form: /\b[0-9a-f]{8}(?:-[0-9a-f]{0,4}){0,4}\b/ },
  { form: /\b\d{9,}\b/ },
  { form: /\d+(?:\.\d)? (?:bytes|KiB|MiB)/ },
];

/** What a page leaves out: alone in a line any lines, within one any text. */
const CUT = '…';

/** Values that a page shows, and those that stand for them in this run. */
export type Bindings = Map<string, string>;

/** Whether the output is what the page shows, but for what it leaves out and for values that differ from run to run. */
export function isShown(shown: string, actual: string, bindings: Bindings): boolean {
  const { source, values } = patternOf(tidy(shown));
  const found = new RegExp(`^${source}$`).exec(tidy(actual));
  if (found === null) return false;
  return values.every((value, at) => {
    const read = (found[at + 1] ?? '').toLowerCase();
    return value === null || isBoundTo(bindings, value.toLowerCase(), read);
  });
}

/** As one compares it: gaps of any width are one, and nothing stands at the ends of lines. */
export function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/(?<=\S)[ \t]{2,}/g, '  ').trimEnd());
  return `${lines.join('\n').replace(/^\n+|\n+$/g, '')}\n`;
}

function patternOf(shown: string): { source: string; values: (string | null)[] } {
  const values: (string | null)[] = [];
  const tokens = new RegExp([CUT, ...kinds.map(({ form }) => form.source)].join('|'), 'g');
  let source = '';
  let from = 0;
  for (const { 0: token, index } of shown.matchAll(tokens)) {
    source += literal(shown.slice(from, index));
    from = index + token.length;
    if (token === CUT) {
      const isLines = isAlone(shown, index);
      source += isLines ? '(?:.*\\n)*?' : '.*?';
      // Its own end of line goes with the lines, of which there may be none.
      if (isLines) from += 1;
      continue;
    }
    const { form, isBound } = kindAt(shown, index);
    source += `(${form.source})`;
    values.push(isBound ? token : null);
  }
  return { source: source + literal(shown.slice(from)), values };
}

function kindAt(text: string, index: number): (typeof kinds)[number] {
  const found = kinds.find(({ form }) => {
    const there = new RegExp(form.source, 'y');
    there.lastIndex = index;
    return there.test(text);
  });
  if (found === undefined) throw new Error(`Nothing is known of ${text.slice(index, index + 40)}`);
  return found;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function isAlone(text: string, at: number): boolean {
  return /(^|\n)$/.test(text.slice(0, at)) && text.startsWith('\n', at + CUT.length);
}

/** Two values of the page never stand for the same one of the run. */
function isBoundTo(bindings: Bindings, value: string, read: string): boolean {
  const bound = bindings.get(value);
  if (bound !== undefined) return bound === read;
  if ([...bindings.values()].includes(read)) return false;
  bindings.set(value, read);
  return true;
}
