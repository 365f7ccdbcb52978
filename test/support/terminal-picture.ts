// Draws the output of a program as an SVG, in the colors of the reader's color scheme.

const LINE_PX = 18;
const CHARACTER_PX = 7.83;
const MARGIN_PX = 16;

/** Classes by the code that begins them (ECMA-48, SGR); every other code ends all. */
const classes: Record<string, string> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  36: 'cyan',
};

const style = `
text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; fill: #1f2328 }
rect { fill: #f6f8fa; stroke: #d0d7de }
.bold { font-weight: 700 } .dim { fill: #59636e } .red { fill: #b3261e } .green { fill: #116329 }
.yellow { fill: #7d4e00 } .cyan { fill: #0a5d7a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } rect { fill: #0d1117; stroke: #30363d }
  .dim { fill: #9198a1 } .red { fill: #ff7b72 } .green { fill: #56d364 } .yellow { fill: #e3b341 }
  .cyan { fill: #76e3ea }
}`;

/** Colors are read from the text's escape sequences. */
export function pictureOfTerminal(title: string, output: string): string {
  const lines = output.trimEnd().split('\n').map(spansOf);
  const columns = Math.max(...lines.map((spans) => spans.map(({ text }) => text).join('').length));
  const width = Math.ceil(columns * CHARACTER_PX + 2 * MARGIN_PX);
  const height = lines.length * LINE_PX + 2 * MARGIN_PX;
  const texts = lines.map((spans, row) => {
    const y = MARGIN_PX + (row + 0.75) * LINE_PX;
    const drawn = spans.map(({ text, names }) =>
      names.length === 0
        ? escaped(text)
        : `<tspan class="${names.join(' ')}">${escaped(text)}</tspan>`,
    );
    return `<text x="${MARGIN_PX}" y="${y}">${drawn.join('')}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style}\n</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>`,
    ...texts,
    '</svg>\n',
  ].join('\n');
}

interface Span {
  text: string;
  names: string[];
}

function spansOf(line: string): Span[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with this character.
  const [first = '', ...parts] = line.split(/\u001b\[/);
  const spans: Span[] = [{ text: first, names: [] }];
  let names: string[] = [];
  for (const part of parts) {
    const [, code = '', text = ''] = /^(\d*)m(.*)$/.exec(part) ?? [];
    const name = classes[code];
    names = name === undefined ? [] : [...names, name];
    spans.push({ text, names });
  }
  return spans.filter(({ text }) => text !== '');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
