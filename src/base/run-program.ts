/**
 * Runs a program's `main` and makes its answer the exit code. A reader that has seen enough, such as
 * `head`, ends the program quietly.
 */
export async function runProgram(main: (argv: string[]) => Promise<number>): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  process.exitCode = await main(process.argv);
}
