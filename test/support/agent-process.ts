import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { recordLog } from './failure-records.ts';

const program = fileURLToPath(new URL('../../bin/svc-agent.js', import.meta.url));

export interface AgentProcess {
  readonly pid: number;
  /** Exit code or signal. */
  readonly ended: Promise<string>;
  kill(signal: NodeJS.Signals): Promise<string>;
}

const running = new Set<ChildProcess>();

/** Ends what a failed test left running. */
export function killAgents(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** `svc-agent run` as a process, behind `within` on its command line; answers once robots can call it. */
export async function spawnAgent(
  env: Record<string, string>,
  onLine: (line: string) => void = () => {},
  within: readonly string[] = [],
): Promise<AgentProcess> {
  const [file = '', ...args] = [...within, process.execPath, program, 'run'];
  const child = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  running.add(child);
  const ended = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    return String(signal ?? code);
  });
  const lines: string[] = [];
  void ended.then(recordLog('agent.log', () => lines.join('\n')));
  const listening = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr as NonNullable<typeof child.stderr> }).on(
      'line',
      (line) => {
        lines.push(line);
        onLine(line);
        if (line.includes('"listening"')) resolve();
      },
    );
    ended.then((how) => reject(new Error(`svc-agent ended with ${how}: ${lines.join('\n')}`)));
  });
  await listening;
  return {
    pid: child.pid ?? 0,
    ended,
    kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
