// Runs a program's `main`, and survives a reader of its output that goes away.
/** Exit code of a program whose reader went away: as a shell tells of one that SIGPIPE ended. */
export const OUTPUT_CLOSED = 141;

/**
 * Runs a program's `main` and makes its answer the exit code. A reader that has seen enough, such as
 * `head`, ends the program quietly, yet not as done: nobody knows what it would have answered.
 */
export async function runProgram(main: (argv: string[]) => Promise<number>): Promise<void> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(OUTPUT_CLOSED);
    process.stderr.write(`Standard output cannot be written (${code}).\n`);
    process.exit(1);
  });
  process.exitCode = await main(process.argv);
}
