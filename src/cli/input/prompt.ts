// Questions to the person at the terminal: a line, a secret, a confirmation.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { escapeText } from '../../base/escape.ts';
import { SvcError } from '../../base/svc-error.ts';

/** `allowed`: false with --no-input. */
export function createPrompt(allowed: boolean) {
  const isPossible = allowed && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const ask = async (question: string, hidden: boolean, option?: string) => {
    if (!isPossible) {
      const instead = option === undefined ? 'Run' : `Give ${option}, or run`;
      throw new SvcError('usage', `Cannot ask for an answer: ${question.trim()}`, {
        hint: `${instead} it in a terminal, without --no-input.`,
      });
    }
    return readLine(question, { hidden });
  };
  const warn = (consequence: string, flag: string) => {
    if (!isPossible) {
      throw new SvcError('usage', `Not a terminal, so you cannot confirm this. ${consequence}`, {
        hint: `Confirm with ${flag}.`,
      });
    }
    process.stderr.write(`${consequence}\n`);
  };
  return {
    /** Whether there is a terminal to ask on. */
    isPossible,
    /** Asks on stderr for one line of standard input. Throws `usage` without a terminal. `option`: gives the answer. */
    line: (question: string, option?: string) => ask(question, false, option),
    /** Like `line`, without showing what is typed. */
    secret: (question: string, option: string) => ask(question, true, option),
    /**
     * Lets a command that loses data or keys go on if the person types the name of what it changes. Throws
     * `not_confirmed` for another answer, and `usage` if there is no terminal.
     */
    async confirm(name: string, consequence: string) {
      warn(consequence, '--yes');
      const answer = await ask(`Type “${escapeText(name)}” to go on: `, false);
      if (answer.trim() !== name.trim()) {
        throw new SvcError('not_confirmed', 'The answer does not match; nothing was changed.');
      }
    },
    /** As `confirm`, for a smaller loss: the person answers yes. `flag`: the option that confirms. */
    async agree(consequence: string, flag = '--yes') {
      warn(consequence, flag);
      if (!/^y(es)?$/i.test((await ask('Go on? [y/N] ', false)).trim())) {
        throw new SvcError('not_confirmed', 'Not confirmed; nothing was changed.');
      }
    },
  };
}

/**
 * Asks on stderr for the next line of standard input, which need not be a terminal. For a hidden answer, echo is off
 * before the question is shown. Rejects with `interrupted` on Ctrl-C, and `usage` at the end of the input.
 */
export async function readLine(question: string, { hidden = false } = {}): Promise<string> {
  const terminal = process.stdin.isTTY === true;
  const output = hidden ? new Writable({ write: (_, __, done) => done() }) : process.stderr;
  // From here on the terminal does not echo; the readline interface prints what is typed.
  const lines = createInterface({ input: process.stdin, output, terminal, historySize: 0 });
  const ended = new AbortController();
  const { signal } = ended;
  let isLineEnded = false;
  try {
    const answer = Promise.race([
      once(lines, 'line', { signal }),
      once(lines, 'SIGINT', { signal }).then(() => {
        throw new SvcError('interrupted', 'Interrupted.');
      }),
      once(lines, 'close', { signal }).then(() => {
        throw new SvcError('usage', 'Standard input ended before the answer.');
      }),
    ]);
    lines.setPrompt(question);
    lines.prompt();
    if (hidden) process.stderr.write(question);
    const [line] = await answer;
    isLineEnded = terminal && !hidden;
    return line;
  } finally {
    if (!isLineEnded) process.stderr.write('\n');
    ended.abort();
    lines.close();
  }
}
