// The signal by which a terminal or a service manager stops a program.

/**
 * Resolves with the first SIGTERM or SIGINT from now on; a second one ends the process at once, with code 130. Call it
 * before the start, so that a signal during the start stops what has started by then.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (stopping) process.exit(130);
        stopping = true;
        resolve(name);
      });
    }
  });
}
