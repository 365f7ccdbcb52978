// Runs a program's `main`, and handles a closed standard output.

/** Exit code if the reader of standard output went away: the one that shells report for SIGPIPE. */
export const OUTPUT_CLOSED = 141;

/**
 * Runs a program's `main` and sets its result as the exit code. A reader that closes early, such as `head`, ends the
 * program quietly but not with success, because its result is unknown.
 */
export async function runProgram(main: (argv: string[]) => Promise<number>): Promise<void> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(OUTPUT_CLOSED);
    process.stderr.write(`Cannot write standard output (${code}).\n`);
    process.exit(1);
  });
  process.exitCode = await main(process.argv);
}
