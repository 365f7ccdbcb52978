// `svc`: loads as little as the command line needs, runs the command and returns its exit code.
import { runProgram } from '../base/run-program.ts';
import { packageVersion } from '../base/version.ts';
import type { Context } from './context.ts';
import type { CommandSpec, Run } from './program/command.ts';
import { type ExitCode, exitCodes } from './program/exit-codes.ts';

/** Runs `svc` as this process. */
export function run(): void {
  void runProgram('svc', main);
}

/** Runs `svc` and returns its exit code. */
export async function main(argv: string[]): Promise<number> {
  const words = argv.slice(2);
  // Without loading anything: scripts and humans ask for it first.
  if (words.length === 1 && ['--version', '-V'].includes(words[0] ?? '')) {
    process.stdout.write(`${packageVersion()}\n`);
    return exitCodes.done;
  }
  if (words[0] === '__complete') {
    const { complete } = await import('./complete.ts');
    await complete(words.slice(1));
    return exitCodes.done;
  }
  let exitCode: ExitCode = exitCodes.done;
  let context: Context | null = null;
  let called: CommandSpec | null = null;
  process.once('SIGINT', interrupted);
  const [{ CommanderError }, errors, { nearestName }, { buildProgram }, { groupsFor }] =
    await Promise.all([
      import('commander'),
      import('../base/report-error.ts'),
      import('../protocol/nearest-name.ts'),
      import('./program/program.ts'),
      import('./groups.ts'),
    ]);
  const program = buildProgram(await groupsFor(words), async (spec, input, options) => {
    const { createContext } = await import('./context.ts');
    context = createContext(options, process.env);
    called = spec;
    // The declaration names the input that `run` declares; commander has read it by that declaration.
    exitCode = (await (spec.run as Run<unknown>)(context, input)) ?? exitCodes.done;
  });
  errors.prepareErrors(program, nearestName);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return errors.reportUsage(error);
    const { reportError } = await import('./program/report-error.ts');
    return reportError(error, called, (context as Context | null)?.signInCommand() ?? null);
  } finally {
    process.off('SIGINT', interrupted);
  }
}

/** Shows the cursor again, on a new line. */
function interrupted(): void {
  if (process.stderr.isTTY) process.stderr.write('\u001b[?25h\n');
  process.exit(exitCodes.interrupted);
}
