import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { anvilAccounts } from './anvil.ts';
import { recordLog } from './failure-records.ts';

const running = new Set<ChildProcess>();

/** Ends what a failed test left running. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL');
}

const program = fileURLToPath(new URL('crashing-server.js', import.meta.url));

export interface ServerOptions {
  dataDir: string;
  rpcUrl: string;
  /**
   * A fault point, as `crashing-server.js` names them, and how often it is passed before the end; with SIGSTOP it is
   * paused there instead.
   */
  crash?: { at: string; count: number; signal?: 'SIGKILL' | 'SIGSTOP' };
  environment?: Record<string, string>;
  /** Where its log goes (default: standard error). */
  log?: Writable;
}

export interface StartingServer {
  /** Where it listens; rejects if it ends before that. */
  url: Promise<string>;
  /** Signal or exit code that ended it. */
  ended: Promise<string>;
  /** The fault points it reached. */
  passed: ReadonlySet<string>;
  /** The fault point at which it killed or paused itself. */
  killedAt(): string | null;
  /** Ends it; returns how it ended. */
  kill(signal: NodeJS.Signals): Promise<string>;
  /** As `kill`, for a signal that does not end it. */
  signal(signal: NodeJS.Signals): void;
}

export interface ServerProcess extends Omit<StartingServer, 'url'> {
  url: string;
}

/** A process that has loaded the server and waits for its configuration. */
export interface WaitingServer {
  start(options: ServerOptions): StartingServer;
  discard(): Promise<void>;
}

/** `variables`: environment of the process itself, which it reads before its configuration. */
export function prepareServer(variables: Record<string, string> = {}): WaitingServer {
  const child = spawn(process.execPath, [program], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH, ...variables },
  });
  running.add(child);
  // The process may be killed before it reads what is written to it.
  child.stdin.on('error', () => {});
  const passed = new Set<string>();
  let killedAt: string | null = null;
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    return String(signal ?? code);
  });
  const url = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const news = JSON.parse(line) as { url?: string; passed?: string; killed?: string };
      if (news.url !== undefined) resolve(news.url);
      if (news.passed !== undefined) passed.add(news.passed);
      if (news.killed !== undefined) killedAt = news.killed;
    });
    ended.then((how) => reject(new Error(`the server ended with ${how}`)));
  });
  // A caller that does not wait for it may still kill it.
  url.catch(() => {});
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return {
    start(options) {
      child.stderr.pipe(options.log ?? process.stderr, { end: false });
      const log: Buffer[] = [];
      child.stderr.on('data', (chunk: Buffer) => log.push(chunk));
      void ended.then(recordLog('server.log', () => Buffer.concat(log)));
      child.stdin.write(`${JSON.stringify(environmentOf(options))}\n`);
      return {
        url,
        ended,
        passed,
        killedAt: () => killedAt,
        kill,
        signal: (signal) => child.kill(signal),
      };
    },
    async discard() {
      await kill('SIGKILL');
    },
  };
}

function environmentOf({ dataDir, rpcUrl, crash, environment }: ServerOptions) {
  return {
    SVC_PORT: '0',
    SVC_DATA_DIR: dataDir,
    SVC_CHAIN_RPC_URL: rpcUrl,
    SVC_PUBLIC_RPC_URL: rpcUrl.split(',')[0],
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_SIGNUP_ANCHORS: '1000',
    SVC_SIGNUP_GAS_WEI: '1000000000000000000',
    SVC_EXPLORER_URL: 'https://explorer.test',
    SVC_LOG_LEVEL: 'error',
    ...environment,
    ...(crash === undefined ? {} : crashOf(crash)),
  };
}

function crashOf({ at, count, signal = 'SIGKILL' }: NonNullable<ServerOptions['crash']>) {
  return { CRASH_AT: at, CRASH_COUNT: String(count), CRASH_SIGNAL: signal };
}

/** A real server in its own process, on a free port, with a data folder that a later server can reuse. */
export async function spawnServer(options: ServerOptions): Promise<ServerProcess> {
  const server = prepareServer().start(options);
  return { ...server, url: await server.url };
}

/** Signs in with a wallet, or a fresh one; returns the owner's client, session token and wallet. */
export async function signInAt(
  url: string,
  account = privateKeyToAccount(generatePrivateKey()),
): Promise<{ owner: Client; session: string; wallet: string }> {
  const { address } = account;
  const guest = createClient({ baseUrl: url, fetch });
  const { body } = await guest.call('createChallenge', { body: { address } });
  const signature = await account.signMessage({ message: body.message });
  const { headers } = await guest.call('verifySignature', { body: { address, signature } });
  const session = /svc_session=([^;]+)/.exec(headers.getSetCookie().join('\n'))?.[1] ?? '';
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  return { owner, session, wallet: address };
}

export function robotClient(url: string, apiKey: string): Client {
  return createClient({ baseUrl: url, fetch, credential: { apiKey } });
}
