import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createClient } from '../dist/client/client.js';
import { startAnvil } from '../dist/server/commands/dev-chain.js';
import { serverInstallation } from '../dist/server/commands/start.js';
import { startProgram } from './measured-program.js';
import { environmentOf } from './unit-environment.js';

const program = fileURLToPath(new URL('../bin/svc-server.js', import.meta.url));

/** The first account of anvil's mnemonic. */
const ANCHOR_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
/** Below the 300 changes that an account may make in a minute. */
const ROBOTS_OF_ACCOUNT = 250;
const ANCHORS = 10_000_000;
const GAS_WEI = 10n ** 27n;

/**
 * A chain and a server in processes of their own, and robots with credits, each with wallet and session of its owner.
 *
 * @param {{ blockTime: number | 'manual', robots: number, environment: Record<string, string>, profile?: string,
 *   monitored?: boolean, fill?: (file: string) => Promise<void> }} options `monitored`: with what measures its event
 *   loop; `fill`: writes the database before the server starts
 */
export async function openSite({ blockTime, robots, environment, profile, monitored, fill }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
  await fill?.(path.join(folder, 'svc.db'));
  const anvil = await startAnvil({ blockTime });
  const settings = {
    PATH: process.env.PATH,
    ...environmentOf(serverInstallation),
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: anvil.url,
    SVC_ANCHOR_PRIVATE_KEY: ANCHOR_KEY,
    // Nobody asks twice: every request waits for its receipt.
    SVC_ANCHOR_TIMEOUT_MS: '600000',
    ...environment,
  };
  const start = () =>
    startProgram({
      command: [program, 'start'],
      env: settings,
      log: path.join(folder, 'server.log'),
      profile,
      monitored,
    });
  let server = await start();
  const accounts = Array.from({ length: Math.ceil(robots / ROBOTS_OF_ACCOUNT) }, async (_, i) => {
    const count = Math.min(ROBOTS_OF_ACCOUNT, robots - i * ROBOTS_OF_ACCOUNT);
    return openAccount({ url: server.url, settings }, count);
  });
  return {
    ...server,
    folder,
    settings,
    rpcUrl: anvil.url,
    anvilPid: anvil.pid,
    robots: (await Promise.all(accounts)).flat(),
    /** Starts the server again after it ended. Answers the seconds until it says that it is ready. */
    async restart() {
      const startedAt = performance.now();
      server = await start();
      for (;;) {
        if ((await fetch(`${server.url}/readyz`)).ok) return (performance.now() - startedAt) / 1000;
        await sleep(10);
      }
    },
    async close() {
      await server.end('SIGTERM');
      await anvil.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function openAccount({ url, settings }, robots) {
  const account = privateKeyToAccount(generatePrivateKey());
  const { address } = account;
  await grant(settings, address);
  const guest = createClient({ baseUrl: url, fetch });
  const { body } = await guest.call('createChallenge', { body: { address } });
  const signature = await account.signMessage({ message: body.message });
  const { headers } = await guest.call('verifySignature', { body: { address, signature } });
  const session = /svc_session=([^;]+)/.exec(headers.getSetCookie().join('\n'))?.[1] ?? '';
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  const made = Array.from({ length: robots }, (_, i) =>
    owner.call('createRobot', { body: { name: `robot ${i}` } }),
  );
  return (await Promise.all(made)).map(({ body: { robot, api_key: apiKey } }) => ({
    id: robot.id,
    apiKey,
    session,
    account,
  }));
}

async function grant(settings, wallet) {
  const amount = [
    '--anchors',
    String(ANCHORS),
    '--gas-wei',
    String(GAS_WEI),
    '--note',
    'bench',
    '--new',
  ];
  const args = [program, 'credits', 'grant', wallet, ...amount];
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: settings });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`credits grant ended with ${code}`);
}
