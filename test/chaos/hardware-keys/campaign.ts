// Robots that sign with keys in emulated hardware, through the real programs, up to the verified archive.
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnAgent } from '../../support/agent-process.ts';
import { startTestChain } from '../../support/anvil.ts';
import { callLocally } from '../../support/local-call.ts';
import { run } from '../../support/programs.ts';
import { spawnServer } from '../../support/server-process.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type HardwareKey, makeTokenKeys, makeTpmKey, shell } from './emulators.ts';

/** Tasks of each robot. */
const TASKS = 10;
/** What a TPM takes for a signature, and how many completions come in a second. */
const SIGNATURE_MS = 50;
const PER_SECOND = 20;
/** Signatures whose mean time is that of the command alone. */
const SAMPLES = 40;
/** Part of the rate of the command alone that the agent must reach, next to server and chain on the same cores. */
const LEAST_SHARE = 0.75;
/** No call of the local API takes longer, however long the queue is. */
const LONGEST_CALL_MS = 500;
/** Ends what hangs; how long it takes says nothing. */
const LONG = 600_000;

export interface KeyReport {
  readonly key: string;
  /** The line about numbers that `svc robots verify` prints. */
  readonly verdict: string;
  readonly violations: readonly string[];
}

export interface QueueReport {
  /** Time of the command alone. */
  readonly command_ms: number;
  readonly statements: number;
  readonly statements_per_second: number;
  readonly longest_backlog: number;
  readonly longest_call_ms: number;
  readonly verdict: string;
  readonly violations: readonly string[];
}

export async function performHardwareKeys(
  seconds: number,
  tell: (line: string) => void,
): Promise<{ keys: KeyReport[]; queue: QueueReport; violations: string[] }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-keys-'));
  const chain = await startTestChain({ blockTime: 1 });
  const server = await spawnServer({
    dataDir: path.join(folder, 'data'),
    rpcUrl: chain.url,
    environment: { SVC_SIGNUP_GAS_WEI: `${10n ** 24n}`, SVC_LOG_LEVEL: 'warn' },
  });
  const user = await createSvcUser(server.url);
  const tpm = await makeTpmKey(folder);
  try {
    await user.signIn();
    const keys: KeyReport[] = [];
    for (const key of [...(await makeTokenKeys(folder)), tpm.key]) {
      keys.push(await workWith(key, { url: server.url, user, folder }));
      tell(`${key.name}: ${keys.at(-1)?.verdict}`);
    }
    const slow = slowed(tpm.key, await meanMs(tpm.key, tpm.key.signLine));
    const queue = await queueUp(slow, { url: server.url, user, folder }, seconds);
    const violations = [...keys, queue].flatMap((report) => report.violations);
    return { keys, queue, violations };
  } finally {
    await tpm.close();
    await user.remove();
    await server.kill('SIGKILL');
    await chain.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly url: string;
  readonly user: SvcUser;
  readonly folder: string;
}

async function workWith(key: HardwareKey, place: Place): Promise<KeyReport> {
  const robot = await startRobot(key, place);
  try {
    for (let n = 0; n < TASKS; n += 1) await robot.complete(await robot.claim());
    await robot.isDelivered();
    return { key: key.name, ...(await verified(key.name, place.user, 2 * TASKS)) };
  } finally {
    await robot.stop();
  }
}

/** Claims first, then 20 completions a second, each of which waits for its place in the queue of the TPM. */
async function queueUp(key: HardwareKey, place: Place, seconds: number): Promise<QueueReport> {
  const commandMs = await meanMs(key, key.signLine);
  const robot = await startRobot(key, place);
  let [longestCallMs, longestBacklog] = [0, 0];
  const timed = async <T>(call: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const answer = await call();
    longestCallMs = Math.max(longestCallMs, performance.now() - startedAt);
    return answer;
  };
  const isSigned = async () => {
    const { unsigned } = (await timed(() => robot.status())).signing;
    longestBacklog = Math.max(longestBacklog, unsigned);
    return unsigned === 0;
  };
  try {
    const ids: string[] = [];
    for (let n = 0; n < seconds * PER_SECOND; n += 1) ids.push(await timed(() => robot.claim()));
    await waitFor('the signed claims', isSigned, LONG);
    const startedAt = performance.now();
    for (const [n, id] of ids.entries()) {
      await sleep(Math.max(0, startedAt + (n * 1000) / PER_SECOND - performance.now()));
      await timed(() => robot.complete(id));
    }
    await waitFor('the signed results', isSigned, LONG);
    const rate = ids.length / ((performance.now() - startedAt) / 1000);
    await robot.isDelivered();
    const { verdict, violations } = await verified(key.name, place.user, 2 * ids.length);
    const least = (LEAST_SHARE * 1000) / commandMs;
    return {
      command_ms: Math.round(commandMs),
      statements: 2 * ids.length,
      statements_per_second: Math.round(rate * 10) / 10,
      longest_backlog: longestBacklog,
      longest_call_ms: Math.round(longestCallMs),
      verdict,
      violations: [
        ...violations,
        ...(rate < Math.min(least, PER_SECOND * LEAST_SHARE)
          ? [`${rate} statements a second, although the command alone takes ${commandMs} ms`]
          : []),
        ...(longestCallMs > LONGEST_CALL_MS ? [`a local call took ${longestCallMs} ms`] : []),
      ],
    };
  } finally {
    await robot.stop();
  }
}

/** The key of a TPM that takes 50 ms for a signature, with the start of its program. */
function slowed(key: HardwareKey, ownMs: number): HardwareKey {
  const rest = Math.max(0, SIGNATURE_MS - ownMs) / 1000;
  return { ...key, name: 'slow-tpm', signLine: `sleep ${rest.toFixed(3)}; ${key.signLine}` };
}

async function meanMs({ environment }: HardwareKey, line: string): Promise<number> {
  const startedAt = performance.now();
  for (let n = 0; n < SAMPLES; n += 1) await shell(line, environment, 'statement');
  return (performance.now() - startedAt) / SAMPLES;
}

/** A robot whose owner has signed its key, with a running agent. */
async function startRobot(key: HardwareKey, { url, user, folder }: Place) {
  const home = path.join(folder, key.name);
  await mkdir(home);
  const { api_key: apiKey } = await user.json('robots', 'create', key.name);
  await writeFile(path.join(home, 'key'), apiKey, { mode: 0o600 });
  const socketPath = path.join(home, 'agent.sock');
  const env = {
    SVC_AGENT_URL: url,
    SVC_AGENT_KEY_FILE: path.join(home, 'key'),
    SVC_AGENT_STATE_DIR: path.join(home, 'state'),
    SVC_AGENT_SOCKET: socketPath,
    SVC_AGENT_SIGN_COMMAND: JSON.stringify(['sh', '-c', key.signLine]),
    ...key.environment,
  };
  succeeded(
    await run('svc-agent', ['identity', 'create', '--public-key', key.publicKeyFile], { env }),
  );
  const sign = ['robots', 'sign-key', key.name, '--key-file', user.keyFile, '--yes'];
  succeeded(await user.spawnSvc(sign));
  const agent = await spawnAgent(env);
  const call = async (method: string, target: string, body?: object) =>
    (await callLocally({ socketPath }, method, target, body && { body })).body;
  const status = () => call('GET', '/api/v1/status');
  await waitFor('the key in use', async () => (await status()).signing.state === 'active', LONG);
  return {
    status,
    async claim(): Promise<string> {
      const id = randomUUID();
      await call('POST', '/api/v1/tasks', { id, title: 'Sort the parcels' });
      return id;
    },
    complete: (id: string) =>
      call('POST', `/api/v1/tasks/${id}/complete`, { proof: { run: id }, outcome: 'succeeded' }),
    isDelivered: () =>
      waitFor(
        'the receipts',
        async () => {
          const { queues } = await status();
          return Object.values<{ count: number }>(queues).every(({ count }) => count === 0);
        },
        LONG,
      ),
    stop: () => agent.kill('SIGTERM'),
  };
}

/** What the owner's commands say, at the service and from the archive. */
async function verified(name: string, user: SvcUser, statements: number) {
  const online = await user.spawnSvc(['robots', 'verify', name]);
  const archive = user.file(`${name}.jsonl`);
  await writeFile(archive, succeeded(await user.spawnSvc(['robots', 'export', name])).stdout);
  const offline = await user.spawnSvc(['verify', archive, '--owner', user.wallet]);
  const verdict = online.stdout.trim().split('\n').at(-1) ?? '';
  const expected = `1 to ${statements} of key`;
  const isGood = (text: string) => text.startsWith('COMPLETE') && text.includes(expected);
  return {
    verdict,
    violations: [online, offline]
      .filter(({ exitCode, stdout }) => exitCode !== 0 || !isGood(stdout))
      .map(({ stdout, stderr }) => `${name}: ${stdout}${stderr}`),
  };
}

function succeeded<T extends { exitCode: number | null; stderr: string }>(finished: T): T {
  if (finished.exitCode !== 0) throw new Error(finished.stderr);
  return finished;
}
