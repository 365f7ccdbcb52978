import { AsyncLocalStorage } from 'node:async_hooks';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Finished, type Program, programFile, type RunOptions } from './programs.ts';

const mains = {
  svc: () => import('../../src/cli/main.ts'),
  'svc-agent': () => import('../../src/agent/main.ts'),
  'svc-server': () => import('../../src/server/commands/program.ts'),
};

const replaced = ['argv', 'env', 'stdin', 'stdout', 'stderr'] as const;

/** What `process` has for the program that runs; everything else in this process keeps its own. */
const given = new AsyncLocalStorage<Record<(typeof replaced)[number], unknown>>();

for (const name of replaced) {
  const { get, value } = Object.getOwnPropertyDescriptor(process, name) ?? {};
  let own: unknown;
  Object.defineProperty(process, name, {
    get: () => given.getStore()?.[name] ?? own ?? get?.call(process) ?? value,
    set(changed) {
      own = changed;
    },
    configurable: true,
    enumerable: true,
  });
}

let running = 0;

const stops = ['SIGINT', 'SIGTERM'] as const;
/** The handlers of this process before a program ran in it. A program leaves its own: its process would end. */
let handlers: NodeJS.SignalsListener[] = [];
const stopHandlers = () => stops.flatMap((signal) => process.listeners(signal));

/**
 * As `run`, without a process: calls the program's own `main`, from src/, with its output piped. For what main prints
 * and answers. A terminal, signals, log lines, the bundle and the end of a process are for `run`; vitest makes
 * `process.exit` throw.
 */
export async function runInProcess(
  program: Program,
  args: readonly string[],
  { env, input = '' }: RunOptions = {},
): Promise<Finished> {
  const { main } = await mains[program]();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const own = {
    argv: [process.execPath, programFile(program), ...args],
    env: { PATH: process.env.PATH, ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout,
    stderr,
  };
  if (running === 0) handlers = stopHandlers();
  running += 1;
  try {
    const ended = given
      .run(own, () => main(own.argv))
      .finally(() => {
        stdout.end();
        stderr.end();
      });
    const [exitCode, ...texts] = await Promise.all([ended, buffer(stdout), buffer(stderr)]);
    return { exitCode, stdout: String(texts[0]), stderr: String(texts[1]) };
  } finally {
    running -= 1;
    // While it is in use, each promise of this process takes three times as long.
    if (running === 0) {
      given.disable();
      const left = stopHandlers().filter((handler) => !handlers.includes(handler));
      for (const signal of stops) for (const handler of left) process.off(signal, handler);
    }
  }
}
