import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type Program, programFile } from './programs.ts';
import { waitFor } from './wait-for.ts';

const SCRIPT = '/usr/bin/script';

export interface TerminalOptions {
  /** Otherwise svc. */
  program?: Program;
  env?: Record<string, string>;
  columns?: number;
  /** What a person types, each when the text before it has been shown. */
  typed?: readonly (readonly [after: string | RegExp, text: string | Typist])[];
}

/** What to type, from what the terminal shows by then. */
type Typist = (screen: string) => Promise<string> | string;

/**
 * Runs a program in a pseudo-terminal, made by `script` of util-linux (in every Debian); answers all that the
 * terminal was sent.
 */
export async function runInTerminal(
  args: readonly string[],
  { program = 'svc', env = {}, columns = 100, typed = [] }: TerminalOptions,
): Promise<{ exitCode: number | null; screen: string }> {
  if (!existsSync(SCRIPT)) {
    throw new Error(`${SCRIPT} is missing: these tests need util-linux (apt-get install bsdutils)`);
  }
  const quoted = [process.execPath, programFile(program), ...args].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  // Its own standard input is no terminal, so that the new one would have no size.
  const command = `stty columns ${columns} rows 40; exec ${quoted.join(' ')}`;
  const child = spawn(SCRIPT, ['-q', '-e', '-c', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, TERM: 'xterm', SHELL: '/bin/sh', ...env },
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const ended = once(child, 'close');
  let from = 0;
  for (const [after, text] of typed) {
    await waitFor(
      `“${after}” on the terminal`,
      () => {
        if (child.exitCode !== null) throw new Error(`it ended before “${after}”: ${screen}`);
        const rest = screen.slice(from);
        const at = typeof after === 'string' ? rest.indexOf(after) : rest.search(after);
        return at >= 0;
      },
      60_000,
    );
    from = screen.length;
    child.stdin.write(typeof text === 'string' ? text : await text(screen));
  }
  await ended;
  return { exitCode: child.exitCode, screen: screen.replaceAll('\r\n', '\n') };
}
