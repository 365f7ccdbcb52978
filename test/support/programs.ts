import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Finished {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export type Program = 'svc' | 'svc-agent' | 'svc-server';

export interface RunOptions {
  env?: Record<string, string>;
  input?: string;
}

/** Runs one of the three programs as a process, with nothing in its environment but `env`. */
export async function run(
  program: Program,
  args: readonly string[],
  { env, input }: RunOptions = {},
): Promise<Finished> {
  const child = start(program, args, env);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { exitCode: child.exitCode, stdout, stderr };
}

export interface DevProcess {
  url: string;
  rpc_url: string;
  chain_id: number;
  data_dir: string;
  /** Exit code, once it has ended. */
  ended: Promise<number | null>;
  stop(): Promise<number | null>;
}

/** `svc-server dev --json`, on a free port unless one is given. */
export async function startDev(dataDir: string, port = '0'): Promise<DevProcess> {
  const child = start('svc-server', ['dev', '--json', '--port', port, '--data-dir', dataDir]);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const ended = once(child, 'exit').then(() => child.exitCode);
  return {
    ...JSON.parse(line),
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** `svc-server start` on a free port. Resolves once it listens. The caller ends it; the exit of this process does, too. */
export async function startServerProgram(
  env: Record<string, string>,
): Promise<{ url: string; child: ChildProcess }> {
  const child = start('svc-server', ['start'], { SVC_PORT: '0', ...env });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  child.stdout.resume();
  for await (const line of createInterface({ input: child.stderr })) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    child.stderr.resume();
    return { url, child };
  }
  throw new Error('The server ended before it listened');
}

function start(program: Program, args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, [programFile(program), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
}

export function programFile(program: Program): string {
  const name = `${program}.${program === 'svc' ? 'cjs' : 'js'}`;
  return fileURLToPath(new URL(`../../bin/${name}`, import.meta.url));
}
