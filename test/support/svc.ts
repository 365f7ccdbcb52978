import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { type Finished, type RunOptions, run } from './programs.ts';
import { runInProcess } from './run-in-process.ts';
import { runInTerminal, type TerminalOptions } from './terminal.ts';

export type SvcUser = Awaited<ReturnType<typeof createSvcUser>>;

/** A person with a wallet, a key file and a configuration of their own, at the service's address. */
export async function createSvcUser(url: string) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-user-'));
  const privateKey = `0x${randomBytes(32).toString('hex')}` as const;
  const account = privateKeyToAccount(privateKey);
  const file = (name: string) => path.join(folder, name);
  const keyFile = file('key');
  await writeFile(keyFile, `${privateKey}\n`, { mode: 0o600 });
  const env = { SVC_CONFIG_DIR: file('config'), HOME: folder };
  const withEnv = (options: RunOptions = {}) => ({ ...options, env: { ...env, ...options.env } });
  const svc = (args: readonly string[], options?: RunOptions) =>
    runInProcess('svc', args, withEnv(options));
  return {
    folder,
    file,
    keyFile,
    privateKey,
    wallet: account.address,
    account,
    env,
    /** Runs `svc` with its output piped. */
    svc,
    /** The same as a process of its own. */
    spawnSvc: (args: readonly string[], options?: RunOptions) => run('svc', args, withEnv(options)),
    /** The same, in a pseudo-terminal. */
    inTerminal: (args: readonly string[], options: TerminalOptions = {}) =>
      runInTerminal(args, { ...options, env: { ...env, ...options.env } }),
    /** Runs `svc … --json` and parses what it prints; fails unless it succeeds without a word on stderr. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
    async json(...args: string[]): Promise<any> {
      const finished = await svc([...args, '--json']);
      if (finished.exitCode !== 0 || finished.stderr !== '') throw failed(args, finished);
      return JSON.parse(finished.stdout);
    },
    async signIn(...more: string[]): Promise<void> {
      const finished = await svc(['login', url, '--key-file', keyFile, ...more]);
      if (finished.exitCode !== 0) throw failed(['login'], finished);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function failed(args: readonly string[], { exitCode, stderr }: Finished): Error {
  return new Error(`svc ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
}

/** A robot of its own, with a client that speaks for it. */
export async function registerRobot(
  url: string,
  user: SvcUser,
  name: string,
): Promise<{ id: string; robot: Client }> {
  const { robot, api_key: apiKey } = await user.json('robots', 'create', name);
  return { id: robot.id, robot: createClient({ baseUrl: url, fetch, credential: { apiKey } }) };
}
