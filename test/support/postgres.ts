import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Request } from './postgres-keeper.ts';

/** A PostgreSQL server of a test's own, on a free port of 127.0.0.1. It ends with this process, even a killed one. */
export interface TestPostgres {
  /** Of its first database, without a name of one: append it. */
  url: string;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** `SIGINT` ends sessions and stops, `SIGQUIT` is a crash: it recovers at the next start. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Stops it and removes what it left behind. */
  close(): Promise<void>;
}

/** Without the folder of the run. */
function outsideRun(): NodeJS.ProcessEnv {
  const { TEST_OUTER_TMPDIR: TMPDIR, TEST_OUTER_PATH: PATH } = process.env;
  return { ...process.env, ...(TMPDIR && { TMPDIR }), ...(PATH && { PATH }) };
}

const keeperFile = fileURLToPath(new URL('postgres-keeper.ts', import.meta.url));
const typescript = new URL('typescript.js', import.meta.url).href;

/**
 * The server of the npm package; it also runs for root, as an unprivileged user. `files` come into its data folder,
 * by name.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<TestPostgres> {
  const keeper = fork(keeperFile, [], {
    execArgv: ['--import', typescript],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // What kills all processes of a run at once leaves it alive to clean up; so does the keeper of the run.
    detached: true,
    env: outsideRun(),
  });
  const exited = once(keeper, 'exit');
  const gone = exited.then(() => {
    throw new Error('The keeper of PostgreSQL has ended');
  });
  gone.catch(() => {});

  async function ask(request: Request): Promise<{ port: number }> {
    keeper.send(request);
    const [answer]: Answer[] = await Promise.race([once(keeper, 'message'), gone]);
    if (answer === undefined || 'failed' in answer) throw new Error(answer?.failed);
    return answer;
  }

  async function close(): Promise<void> {
    if (keeper.connected) keeper.disconnect();
    await exited;
  }

  try {
    const { port } = await ask({ make: { settings, files } });
    return {
      url: `postgres://svc@127.0.0.1:${port}`,
      start: async () => void (await ask({ start: true })),
      stop: async (signal) => void (await ask({ stop: signal })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
