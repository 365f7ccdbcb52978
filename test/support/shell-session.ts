import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { waitFor } from './wait-for.ts';

const SCRIPT = '/usr/bin/script';

/** Ends what hangs, and measures nothing. */
const LONGEST_MS = 300_000;

/** Runs each file whose name it reads from descriptor 3, until one fails; nothing is typed, and nothing echoed. */
const DRIVER = `
trap 'printf "\\nshell-ended:%s\\n" $?' EXIT
printf 'shell:%s\\n' $$
while IFS= read -r -u 3 file; do
  set -e -o pipefail
  . "$file"
  set +e
  printf '\\nend-of:%s\\n' "$file"
done
`;

export interface ShellSession {
  /** Runs commands as if typed one after the other; answers what the terminal shows. Rejects when one fails. */
  run(commands: string): Promise<string>;
  /** Ends the shell and everything that it started. */
  close(): Promise<void>;
  /** Process group of the shell and of all that it started. */
  group: number;
}

/**
 * A bash in a pseudo-terminal, made by `script` of util-linux. `folder` takes what it runs; `before` is run first.
 */
export async function openShell(options: {
  cwd: string;
  folder: string;
  env: Record<string, string>;
  before: string;
}): Promise<ShellSession> {
  if (!existsSync(SCRIPT)) {
    throw new Error(`${SCRIPT} is missing: these tests need util-linux (apt-get install bsdutils)`);
  }
  const { cwd, folder, env } = options;
  const driver = path.join(folder, 'driver.sh');
  await writeFile(driver, `stty columns 100 rows 40\n${options.before}\n${DRIVER}`);
  const child = spawn(SCRIPT, ['-q', '-e', '-c', `exec bash ${driver}`, '/dev/null'], {
    cwd,
    // A terminal without colours and without anything that moves.
    env: { ...env, TERM: 'dumb', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  const screen = readScreen(child);
  const orders = child.stdio[3] as NodeJS.WritableStream;
  // A shell that has ended reads no more.
  orders.on('error', () => {});
  const [, group] = await screen.until(/shell:(\d+)\n/);
  let count = 0;
  return {
    group: Number(group),
    async run(commands) {
      count += 1;
      const file = path.join(folder, `commands-${count}.sh`);
      await writeFile(file, `${commands}\n`);
      orders.write(`${file}\n`);
      const [, shown = ''] = await screen.until(new RegExp(`^([\\s\\S]*?)\\n?end-of:${file}\n`));
      return shown;
    },
    async close() {
      orders.end();
      await endGroup(Number(group));
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    },
  };
}

function readScreen(child: ChildProcess) {
  let screen = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    screen += text.replaceAll('\r', '');
  });
  let ended = false;
  child.once('close', () => {
    ended = true;
  });
  return {
    /** Takes what it shows up to the end of the pattern. */
    async until(pattern: RegExp): Promise<RegExpExecArray> {
      const found = await waitFor(
        `${pattern} on the terminal, which shows ${screen}`,
        () => {
          const match = pattern.exec(screen);
          // What goes on in the background may keep the terminal open beyond the shell.
          if (match === null && (ended || /^shell-ended:/m.test(screen))) {
            throw new Error(`The shell ended: ${screen}`);
          }
          return match;
        },
        LONGEST_MS,
      );
      screen = screen.slice(found.index + found[0].length);
      return found;
    },
  };
}

/** Asks all of them to end, and makes those that do not. */
async function endGroup(group: number): Promise<void> {
  if (!signal(group, 'SIGTERM')) return;
  signal(group, 'SIGCONT');
  try {
    await waitFor(`the end of process group ${group}`, () => !signal(group, 0), 5_000);
  } catch {
    signal(group, 'SIGKILL');
    await waitFor(`the end of process group ${group}`, () => !signal(group, 0));
  }
}

/** False if the group has no process. */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
