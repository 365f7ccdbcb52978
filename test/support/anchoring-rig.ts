import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type OpenChain, openChain } from '../../src/chain/chain.ts';
import { loadAnchorKey } from '../../src/chain/keys/anchor-key.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { type Anchorer, startAnchorer } from '../../src/server/anchoring/anchorer.ts';
import type { AnchoringLimits, AnchorStep } from '../../src/server/anchoring/context.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { anvilAccounts, startTestChain, type TestChain } from './anvil.ts';
import { recordLog } from './failure-records.ts';
import { openTestStore } from './open-test-store.ts';
import { quickPauses } from './quick-pauses.js';
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts';
import { waitFor } from './wait-for.ts';

const WALLET = anvilAccounts[1].address;
const { address: SENDER } = anvilAccounts[0];

export interface RigOptions extends Partial<AnchoringLimits> {
  onStep?: (step: AnchorStep) => void | Promise<void>;
  /** Which of anvil's accounts to anchor with; the first one unless given. */
  accounts?: readonly number[];
  /** How long a node may take to answer. */
  timeoutMs?: number;
}

export interface AnchoringRig {
  node: TestChain;
  /** One in front of the node for each URL that the anchorer has. */
  proxies: RpcProxy[];
  /** The first of them. */
  proxy: RpcProxy;
  store: Store;
  sender: string;
  /** What the anchorer logged, one JSON document a line. */
  log: string[];
  start(options?: RigOptions): Anchorer;
  /** Claims and completes that many tasks once there is a fee quote; answers their ids. */
  queue(count?: number): Promise<string[]>;
  task(id: string): Promise<TaskRecord>;
  /** Resolves when every task is verified. */
  verified(ids: string[]): Promise<TaskRecord[]>;
  degraded(): Promise<string[]>;
  /** Anchoring transactions in all blocks, oldest first. */
  minedAnchors(): Promise<
    { hash: string; from: string; nonce: number; input: string; blockNumber: string }[]
  >;
  /** Resolves when this many transactions are in the node's pool. */
  pending(count: number): Promise<true>;
  close(): Promise<void>;
  /** Closes, and expects that every invariant holds. */
  closeSound(): Promise<void>;
}

/** A real chain behind a proxy, a real store with one robot and credits, and an anchorer on demand. */
export async function startAnchoringRig(
  chainOptions: Parameters<typeof startTestChain>[0] = {},
  urlCount = 1,
): Promise<AnchoringRig> {
  const node = await startTestChain(chainOptions);
  const proxy = await startRpcProxy(node.url);
  const others = Array.from({ length: urlCount - 1 }, () => startRpcProxy(node.url));
  const proxies = [proxy, ...(await Promise.all(others))];
  const opened = await openTestStore(systemClock);
  const { store } = opened;
  const allKeys = await Promise.all(
    anvilAccounts.map(({ privateKey }) => loadAnchorKey({ privateKey })),
  );
  const robotId = await makeRobot(store);
  const log: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => log.push(line) });
  const logEnded = recordLog('anchorer.log', () => log.join(''));
  const running: { anchorer: Anchorer; chain: OpenChain }[] = [];
  let queued: Promise<unknown> = Promise.resolve();
  /** Shows the anchorer all proofs of one `queue` at once, in whatever commits they are. */
  const listQueuedProofs: Store['listQueuedProofs'] = async (...args) => {
    for (;;) {
      const before = queued;
      await before;
      const proofs = await store.listQueuedProofs(...args);
      if (queued === before) return proofs;
    }
  };

  const rig: AnchoringRig = {
    node,
    proxies,
    proxy,
    store,
    sender: SENDER,
    log,
    start({ onStep, accounts = [0], timeoutMs = 1_000, ...limits } = {}) {
      const chain = openChain({ urls: proxies.map(({ url }) => url), timeoutMs });
      const options = {
        confirmations: 1,
        batchMax: 1024,
        lingerMs: 20,
        maxInFlight: 4,
        bumpAfterMs: 15_000,
        leaseTtlMs: 3_000,
        leavesPerCommit: 64,
        pauses: quickPauses,
        maxFeePerGas: 500_000_000_000n,
        maxPriorityFeePerGas: 100_000_000_000n,
        maxGas: 2_000_000n,
        maxSpendWeiPerHour: null,
        chainProofs: false,
        ...limits,
      };
      const keys = allKeys.filter((_key, index) => accounts.includes(index));
      const origin = 'https://svc.test';
      const deps = {
        store: { ...store, listQueuedProofs },
        chain: chain.anchoring,
        keys,
        clock: systemClock,
        logger,
        options,
        origin,
      };
      const anchorer = startAnchorer({ ...deps, onStep });
      running.push({ anchorer, chain });
      return anchorer;
    },
    async queue(count = 1) {
      await waitFor('a fee quote', async () => (await store.getChainStatus())?.quote);
      const all = Promise.all(Array.from({ length: count }, () => queueOne(store, robotId)));
      queued = all.catch(() => {});
      return all;
    },
    async task(id) {
      const task = await store.getTask(id, { robotId });
      if (task === null) throw new Error('The task is gone');
      return task;
    },
    verified: (ids) =>
      waitFor('every task to be verified', async () => {
        const tasks = await Promise.all(ids.map((id) => rig.task(id)));
        return tasks.every(({ status }) => status === 'verified') && tasks;
      }),
    degraded: async () => (await store.getChainStatus())?.degraded ?? [],
    minedAnchors: () => anchorsOf(node),
    pending: (count) =>
      waitFor(`${count} transactions in the pool`, async () => {
        const status = await node.rpc<{ pending: string }>('txpool_status');
        return Number(status.pending) === count;
      }),
    async close() {
      await Promise.all(running.map(({ anchorer }) => anchorer.drain()));
      await Promise.all(running.map(({ chain }) => chain.close()));
      await opened.close();
      await Promise.all(proxies.map((one) => one.close()));
      await node.close();
      logEnded();
    },
    async closeSound() {
      const violated = await store.checkInvariants();
      await rig.close();
      expect(violated).toEqual([]);
    },
  };
  return rig;
}

async function makeRobot(store: Store): Promise<string> {
  const now = Date.now();
  await store.grantCredits({
    id: randomUUID(),
    wallet: WALLET,
    anchors: 10_000,
    gasWei: 10n ** 24n,
    note: 'test',
    now,
  });
  const id = randomUUID();
  const robot = { id, wallet: WALLET, name: 'arm', description: null, keyHash: id, createdAt: now };
  await store.createRobot(robot);
  return id;
}

async function queueOne(store: Store, robotId: string): Promise<string> {
  const id = randomUUID();
  const now = Date.now();
  await store.createTask({
    id,
    robotId,
    keyHash: robotId,
    title: 'carry',
    description: null,
    expectedResult: null,
    occurredAt: null,
    createdAt: now,
    idGiven: false,
    isSigned: false,
  });
  const proof = { nonce: randomUUID() };
  const proofHash = hashProof(proof);
  const claimHash = hashClaim({ created_at: new Date(now).toISOString(), title: 'carry' });
  const queued = await store.queueCompletion({
    taskId: id,
    robotId,
    keyHash: robotId,
    proof: JSON.stringify(proof),
    proofHash,
    claimHash,
    leaf: leafHash({
      proof_hash: proofHash,
      task_id: id,
      robot_id: robotId,
      claim_hash: claimHash,
    }),
    statementHash: null,
    outcome: null,
    now,
  });
  if (queued.outcome !== 'queued') throw new Error(`Not queued: ${queued.outcome}`);
  return id;
}

async function anchorsOf(node: TestChain) {
  const head = Number(await node.rpc<string>('eth_blockNumber'));
  const blocks = await Promise.all(
    Array.from({ length: head + 1 }, (_, number) =>
      node.rpc<{
        transactions: {
          hash: string;
          from: string;
          nonce: string;
          input: string;
          blockNumber: string;
        }[];
      }>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]),
    ),
  );
  return blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ input }) => input.startsWith('0x52545041'))
    .map(({ nonce, ...anchor }) => ({ ...anchor, nonce: Number(nonce) }));
}
