import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { SvcError } from '../base/svc-error.ts';

export interface Prompt {
  /** Whether a person can be asked. */
  readonly isPossible: boolean;
  /** One line from standard input, asked for on stderr. Throws `usage` where nobody can be asked. */
  line(question: string): Promise<string>;
  /** The same, not shown while it is typed. */
  secret(question: string): Promise<string>;
}

/** `allowed`: false with --no-input. */
export function createPrompt(allowed: boolean): Prompt {
  const isPossible = allowed && process.stdin.isTTY === true && process.stderr.isTTY === true;
  const ask = async (question: string, hidden: boolean) => {
    if (!isPossible) throw new SvcError('usage', `This needs an answer: ${question.trim()}`);
    process.stderr.write(question);
    const answer = await readLine({ hidden });
    if (hidden) process.stderr.write('\n');
    return answer;
  };
  return {
    isPossible,
    line: (question) => ask(question, false),
    secret: (question) => ask(question, true),
  };
}

/** The next line of standard input, from a terminal or not. Rejects with `interrupted` on Ctrl-C. */
export async function readLine({ hidden = false } = {}): Promise<string> {
  const terminal = process.stdin.isTTY === true;
  const output = hidden ? new Writable({ write: (_, __, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal, historySize: 0 });
  const ended = new AbortController();
  const { signal } = ended;
  try {
    const [line] = await Promise.race([
      once(lines, 'line', { signal }),
      once(lines, 'SIGINT', { signal }).then(() => {
        throw new SvcError('interrupted', 'Interrupted.');
      }),
      once(lines, 'close', { signal }).then(() => {
        throw new SvcError('usage', 'Standard input ended before the answer.');
      }),
    ]);
    return line;
  } finally {
    ended.abort();
    lines.close();
  }
}
