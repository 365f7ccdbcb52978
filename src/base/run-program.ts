// Runs a program's `main`, and handles a closed standard output.

/** Exit code if the reader of standard output went away: the one that shells report for SIGPIPE. */
export const OUTPUT_CLOSED = 141;

/** The oldest version of Node.js that package.json allows. */
const OLDEST_NODE = '20.19';

/**
 * Loads a program and runs it. On an older Node.js, loading fails with a syntax error, so the version is checked first.
 * `load` resolves to the module with `main`.
 */
export async function loadAndRun(
  name: string,
  load: () => Promise<{ main(argv: string[]): Promise<number> }>,
): Promise<void> {
  if (isOlder(process.versions.node, OLDEST_NODE)) {
    process.stderr.write(
      `${name}: Node.js ${process.versions.node} is too old.\nInstall Node.js ${OLDEST_NODE} or newer.\n`,
    );
    process.exitCode = 2;
    return;
  }
  await runProgram(name, (await load()).main);
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = than.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

/**
 * Runs a program's `main` and sets its result as the exit code. A reader that closes early, such as `head`, ends the
 * program quietly but not with success, because its result is unknown.
 */
export async function runProgram(
  name: string,
  main: (argv: string[]) => Promise<number>,
): Promise<void> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(OUTPUT_CLOSED);
    process.stderr.write(`${name}: Cannot write standard output (${code}).\n`);
    process.exit(1);
  });
  process.exitCode = await main(process.argv);
}
