import { randomUUID } from 'node:crypto';
import { type Logger, pino } from 'pino';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type OpenChain, openChain } from '../../src/chain/chain.ts';
import { loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import type { Body } from '../../src/protocol/routes.ts';
import { startAnchorer } from '../../src/server/anchoring/anchorer.ts';
import type { Network, Settings, WebhookSettings } from '../../src/server/core/deps.ts';
import { buildApp } from '../../src/server/http/app.ts';
import type { ArrivalTimeouts } from '../../src/server/http/server/listener.ts';
import type { RefusedCallers } from '../../src/server/http/server/refused-callers.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { StorageLimits } from '../../src/server/rules/storage.ts';
import { anvilAccounts, callRpc, startTestChain } from './anvil.ts';
import { recordLog } from './failure-records.ts';
import { openTestStore } from './open-test-store.ts';
import { quickPauses } from './quick-pauses.js';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';
import { signupGrant } from './signup-grant.ts';
import { waitFor } from './wait-for.ts';
import { type Reply, type Send, send } from './wire.ts';

export const network: Network = {
  name: 'Test chain',
  testnet: true,
  explorerUrl: 'https://explorer.test',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: ['https://rpc.test'],
};

export const testSettings = (): Settings => ({
  baseUrl: '',
  chainId: 31337,
  anchorTimeoutMs: 30_000,
  promiseMs: 24 * 3_600_000,
  telemetryRetentionMs: null,
  creditUrl: null,
  gate: null,
  signup: { mode: 'open', ...signupGrant(1000, 10n ** 18n) },
});

export interface TestServiceOptions {
  /**
   * `mining`: a local chain that mines each transaction at once, and the anchorer. So an anchor stays `included` until
   * the next transaction, or until the test mines. `manual`: the same, a block only when the test mines. `none` (the
   * default): nothing listens behind the RPC URL.
   */
  chain?: 'mining' | 'manual' | 'none';
  /** The RPC URL without a local chain; by default nothing listens there. */
  rpcUrl?: string;
  settings?: Partial<Settings>;
  /** The free and the required space of the disk, in bytes. */
  disk?: { minFreeBytes: number; freeBytes: () => Promise<number> };
  /** Storage quotas; none by default. */
  storage?: StorageLimits;
  refusals?: RefusedCallers;
  clock?: Clock;
  /** Whether chain proofs of final anchors are built; by default not. */
  chainProofs?: boolean;
  /** What webhooks need; off unless given. */
  webhooks?: WebhookSettings;
  timeouts?: ArrivalTimeouts;
  trustedProxies?: readonly string[];
  /** Puts a proxy between the service and its local chain; direct calls of a test bypass it. */
  rpcProxy?: boolean;
  /** RPC calls per second for public verification; without a limit unless given. */
  verifyPerSecond?: number;
  /** The first check of funds and chain; complete from the start by default. */
  checked?: Promise<void>;
}

export interface Owner {
  account: ReturnType<typeof privateKeyToAccount>;
  wallet: string;
  session: string;
}

export interface TestRobot {
  id: string;
  apiKey: string;
}

export type TestService = Awaited<ReturnType<typeof startTestService>>;

/** The whole service on a free port with a database of its own, as close to `svc-server start` as a test gets. */
export async function startTestService(options: TestServiceOptions = {}) {
  const kind = options.chain ?? 'none';
  const clock = options.clock ?? systemClock;
  const anvil =
    kind === 'none'
      ? null
      : await startTestChain({ blockTime: kind === 'manual' ? 'manual' : 'transaction' });
  const rpcUrl = anvil?.url ?? options.rpcUrl ?? 'http://127.0.0.1:9';
  const proxy = options.rpcProxy ? await startRpcProxy(rpcUrl) : null;
  const { verifyPerSecond } = options;
  const chain = openChain({
    urls: [proxy?.url ?? rpcUrl],
    ...(verifyPerSecond !== undefined && { verifyPerSecond }),
  });
  const opened = await openTestStore(clock, options.disk, options.storage);
  const { store } = opened;
  const logLines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => logLines.push(line) });
  const logEnded = recordLog('service.log', () => logLines.join(''));
  const stopping = new AbortController();
  const settings = { ...testSettings(), ...options.settings };
  const app = buildApp({
    store,
    chain,
    clock,
    settings,
    keys: anvil === null ? [] : [await loadAnchorKey(anvilAccounts[0])],
    network: async () => network,
    webhooks: options.webhooks ?? null,
    stopping: stopping.signal,
    logger,
    ...(options.checked && { checked: options.checked }),
    ...(options.refusals && { refusals: options.refusals }),
    ...(options.timeouts && { timeouts: options.timeouts }),
    ...(options.trustedProxies && { trustedProxies: options.trustedProxies }),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  settings.baseUrl ||= url;
  const deps = { store, chain, clock, logger, origin: settings.baseUrl };
  const { chainProofs = false } = options;
  const anchorer = anvil === null ? null : await anchor({ ...deps, chainProofs });

  const call = (method: string, target: string, sent?: Send) => send(url, method, target, sent);
  return {
    url,
    rpcUrl,
    /** The proxy between service and chain, if `rpcProxy` is set. */
    get proxy(): RpcProxy {
      if (proxy === null) throw new Error('The service has no rpcProxy');
      return proxy;
    },
    store,
    chain,
    settings,
    app,
    /** Lines of the log so far. */
    logLines,
    stopping,
    call,
    signIn: (account = newWallet()) => signIn(call, account),
    signAgain: (owner: Owner, purpose?: Purpose) => signAgain(call, owner, purpose),
    /** A new account with one robot. */
    signInWithRobot: () => signInWithRobot(call),
    makeRobot: (owner: Owner, name = 'arm-1') => makeRobot(call, owner, name),
    claim: (robot: TestRobot, body: object = { title: 'Sort the parcels' }) =>
      claim(call, robot, body),
    complete: (robot: TestRobot, taskId: string, proof: unknown = newEvidence()) =>
      call('POST', `/api/v1/tasks/${taskId}/complete`, { apiKey: robot.apiKey, body: { proof } }),
    /** Calls the local chain directly. */
    rpc: (method: string, params: readonly unknown[] = []) => callRpc(rpcUrl, method, params),
    endChain: async () => {
      await anvil?.stop();
    },
    close: async () => {
      stopping.abort();
      await app.close();
      await anchorer?.drain();
      await opened.close();
      await chain.close();
      await proxy?.close();
      await anvil?.close();
      logEnded();
    },
  };
}

/** The service, and an account with one robot. */
export async function startServiceWithRobot(options: TestServiceOptions = {}) {
  const service = await startTestService(options);
  return { service, ...(await service.signInWithRobot()) };
}

interface AnchoringDeps {
  store: Store;
  chain: OpenChain;
  clock: Clock;
  logger: Logger;
  origin: string;
  chainProofs: boolean;
}

/** The anchorer, ready for the first completion. */
async function anchor({ chainProofs, ...deps }: AnchoringDeps) {
  const anchorer = startAnchorer({
    ...deps,
    chain: deps.chain.anchoring,
    keys: [await loadAnchorKey(anvilAccounts[0])],
    options: {
      confirmations: 1,
      batchMax: 1024,
      lingerMs: 20,
      maxInFlight: 4,
      bumpAfterMs: 15_000,
      leaseTtlMs: 10_000,
      leavesPerCommit: 64,
      pauses: quickPauses,
      maxFeePerGas: 500n * 10n ** 9n,
      maxPriorityFeePerGas: 100n * 10n ** 9n,
      maxGas: 2_000_000n,
      maxSpendWeiPerHour: null,
      chainProofs,
    },
  });
  await waitFor('the first fee quote', async () => (await deps.store.getChainStatus())?.quote);
  return anchorer;
}

type CallService = (method: string, path: string, options?: Send) => Promise<Reply>;

export function newWallet() {
  return privateKeyToAccount(generatePrivateKey());
}

/** Evidence that no other test submits. */
export function newEvidence(): { run: string; picked: number } {
  return { run: randomUUID(), picked: 12 };
}

async function signIn(call: CallService, account: Owner['account']): Promise<Owner> {
  const { address } = account;
  const challenge = await call('POST', '/api/auth/challenge', { body: { address } });
  if (challenge.status !== 200) throw new Error('No challenge', { cause: challenge.body });
  const { message } = challenge.body;
  const signature = await account.signMessage({ message });
  const reply = await call('POST', '/api/auth/verify', { body: { address, signature, message } });
  if (reply.status !== 200) throw new Error(`Sign-in failed: ${JSON.stringify(reply.body)}`);
  return { account, wallet: reply.body.wallet, session: cookieOf(reply, 'svc_session') };
}

type Purpose = Body<'createChallenge'>['purpose'];

/** The message that a wallet signs to export or delete its account, or to sign in. */
async function signAgain(call: CallService, { account }: Owner, purpose?: Purpose) {
  const body = { address: account.address, ...(purpose && { purpose }) };
  const { message } = (await call('POST', '/api/auth/challenge', { body })).body;
  return { message, signature: await account.signMessage({ message }) };
}

/** A new account with one robot, by the calls of a service. */
export async function signInWithRobot(
  call: CallService,
): Promise<{ owner: Owner; robot: TestRobot }> {
  const owner = await signIn(call, newWallet());
  return { owner, robot: await makeRobot(call, owner, 'arm-1') };
}

async function makeRobot(call: CallService, owner: Owner, name: string): Promise<TestRobot> {
  const { body } = await call('POST', '/api/v1/robots', {
    session: owner.session,
    body: { name },
  });
  return { id: body.robot.id, apiKey: body.api_key };
}

async function claim(call: CallService, robot: TestRobot, body: object): Promise<string> {
  const reply = await call('POST', '/api/v1/tasks', { apiKey: robot.apiKey, body });
  return reply.body.task.id;
}

/** Value of a cookie that the reply sets. */
export function cookieOf(reply: Reply, name: string): string {
  const line = setCookieLine(reply, name);
  return /=([^;]*)/.exec(line)?.[1] ?? '';
}

export function setCookieLine(reply: Reply, name: string): string {
  const line = reply.headers.getSetCookie().find((cookie) => cookie.startsWith(`${name}=`));
  if (line === undefined) throw new Error(`${name} is not set`);
  return line;
}

/** Grants credits outside of sign-up. */
export async function grant(
  store: Store,
  wallet: string,
  anchors: number,
  gasWei: bigint,
): Promise<void> {
  await store.grantCredits({
    id: randomUUID(),
    wallet,
    anchors,
    gasWei,
    note: 'test',
    now: Date.now(),
  });
}
