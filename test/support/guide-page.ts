/**
 * A fenced block of a guide: commands (`sh`) with what the terminal then shows (the `text` or `json` after them, null
 * where the page shows nothing), a file that the reader writes (a language and its name, such as `js robot.mjs`), or
 * commands that only readers can run (`sh (not run: …)`).
 */
export type Step =
  | { kind: 'commands'; line: number; text: string; shown: Shown | null }
  | { kind: 'file'; line: number; text: string; name: string }
  | { kind: 'not run'; line: number; text: string; reason: string };

export interface Shown {
  text: string;
  /** JSON may stand there with other line breaks than it has. */
  isJson: boolean;
}

const FENCE = /^```(\w*)(?: +(.+))?\n([\s\S]*?)^```$/gm;

/** @throws Error for a block that is none of them, or output that no commands show. */
export function readGuide(markdown: string): Step[] {
  const steps: Step[] = [];
  for (const { 1: language, 2: rest, 3: text = '', index } of markdown.matchAll(FENCE)) {
    const line = markdown.slice(0, index).split('\n').length;
    const reason = /^\(not run: (.+)\)$/.exec(rest ?? '')?.[1];
    if (reason !== undefined) steps.push({ kind: 'not run', line, text, reason });
    else if (rest !== undefined) steps.push({ kind: 'file', line, text, name: rest });
    else if (language === 'sh') steps.push({ kind: 'commands', line, text, shown: null });
    else if (language === 'text' || language === 'json') {
      const before = steps.at(-1);
      if (before?.kind !== 'commands' || before.shown !== null) {
        throw new Error(`Line ${line}: output that no commands before it show`);
      }
      before.shown = { text, isJson: language === 'json' };
    } else throw new Error(`Line ${line}: this kind of block is unknown`);
  }
  return steps;
}
