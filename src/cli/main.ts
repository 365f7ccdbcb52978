import { packageVersion } from '../base/version.ts';
import type { Run } from './command.ts';
import type { Context } from './context.ts';
import { type ExitCode, exitCodes } from './exit.ts';

/** Runs `svc` and answers its exit code. */
export async function main(argv: string[]): Promise<number> {
  if (argv.length === 3 && argv[2] === '--version') {
    process.stdout.write(`${packageVersion()}\n`);
    return exitCodes.done;
  }
  if (argv[2] === '__complete') {
    const { complete } = await import('./complete.ts');
    await complete(argv.slice(3));
    return exitCodes.done;
  }
  let exitCode: ExitCode = exitCodes.done;
  let context: Context | null = null;
  process.once('SIGINT', interrupted);
  const [{ CommanderError }, { buildProgram }] = await Promise.all([
    import('commander'),
    import('./build-program.ts'),
  ]);
  const program = buildProgram(async (spec, input, options) => {
    const [{ createContext }, run] = await Promise.all([import('./context.ts'), spec.load()]);
    context = createContext(options, process.env);
    // The table names the input that the command declares; commander has read it by the same table.
    exitCode = (await (run as Run<unknown>)(context, input)) ?? exitCodes.done;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    // Commander has printed its own message.
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    }
    const { reportError } = await import('./report-error.ts');
    return reportError(error, (context as Context | null)?.signInCommand() ?? null);
  }
}

/** Leaves the cursor shown, on a line of its own. */
function interrupted(): void {
  if (process.stderr.isTTY) process.stderr.write('\u001b[?25h\n');
  process.exit(exitCodes.interrupted);
}
