import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../src/client/client.ts';
import { anvilAccounts } from './anvil.ts';

const running = new Set<ChildProcess>();

/** Ends what a failed test left running. */
export function killServers(): void {
  for (const child of running) child.kill('SIGKILL');
}

const program = fileURLToPath(new URL('crashing-server.js', import.meta.url));

export interface ServerProcess {
  url: string;
  child: ChildProcess;
  /** Signal or exit code that ended it. */
  ended: Promise<string>;
  kill(signal: NodeJS.Signals): Promise<string>;
}

/** A real server in a process of its own, on a free port, with a data folder that a later one can take over. */
export async function spawnServer(options: {
  dataDir: string;
  rpcUrl: string;
  crash?: { at: string; count: number };
  environment?: Record<string, string>;
}): Promise<ServerProcess> {
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      SVC_PORT: '0',
      SVC_DATA_DIR: options.dataDir,
      SVC_CHAIN_RPC_URL: options.rpcUrl,
      SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      SVC_SIGNUP_ANCHORS: '1000',
      SVC_SIGNUP_GAS_WEI: '1000000000000000000',
      SVC_EXPLORER_URL: 'https://explorer.test',
      SVC_LOG_LEVEL: 'error',
      ...options.environment,
      ...(options.crash === undefined
        ? {}
        : { CRASH_AT: options.crash.at, CRASH_COUNT: String(options.crash.count) }),
    },
  });
  running.add(child);
  const ended = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    return String(signal ?? code);
  });
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then((how) => Promise.reject(new Error(`the server ended with ${how}`))),
  ]);
  return {
    url: (JSON.parse(line) as { url: string }).url,
    child,
    ended,
    kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Signs in with a fresh wallet; answers the owner's client, session token and wallet. */
export async function signInAt(
  url: string,
): Promise<{ owner: Client; session: string; wallet: string }> {
  const account = privateKeyToAccount(generatePrivateKey());
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
