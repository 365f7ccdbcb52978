import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

let running: ChildProcess | undefined;

/** Whether a command, whose output goes to the caller's, ends with 0. */
export async function runCommand(
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string | undefined> },
): Promise<boolean> {
  // In a group of its own, so that all that it has started ends with it.
  running = spawn(command, args, {
    ...options,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const [code] = await once(running, 'close');
  running = undefined;
  return code === 0;
}

/** Ends what runs, with all that it has started. */
export function endCommand(signal: NodeJS.Signals): void {
  if (running?.pid !== undefined && running.exitCode === null) process.kill(-running.pid, signal);
}
