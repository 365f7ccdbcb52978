import { createHash, randomBytes } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { v7 as uuid } from 'uuid';
import { bytesToHex, type Hex, hexToBytes } from '../../src/proof/bytes.ts';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import type { JsonObject } from '../../src/proof/json-value.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { encodeRlp, quantityBytes } from '../../src/proof/rlp.ts';
import { formatTimestamp } from '../../src/protocol/timestamp.ts';
import type {
  FeeQuote,
  Lease,
  MinedVariant,
  NewAttempt,
  QueuedProof,
  Variant,
} from '../../src/server/ports/anchoring.ts';
import type { NewCompletion } from '../../src/server/ports/completions.ts';
import type { FleetRecord, NewFleet } from '../../src/server/ports/fleets.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { Challenge, NewCliCode, NewSession, SignIn } from '../../src/server/ports/sign-in.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { NewTask, TaskRecord } from '../../src/server/ports/tasks.ts';
import type { StorageLimits } from '../../src/server/rules/storage.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';

/** A store that a test has for itself. */
export interface OpenedStore {
  store: Store;
  /** Closes the store and opens its data again. */
  reopen(): Promise<Store>;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
}

export interface StoreLimits {
  /** As in the protocol, unless fewer are asked for. */
  maxChallenges?: number;
  /** None, unless asked for. */
  storage?: StorageLimits;
}

export type OpenStore = (clock: TestClock, limits?: StoreLimits) => Promise<OpenedStore>;

export const chainId = 31_337;
export const leaseMs = 60_000;
/** Where the challenges of a world are asked for. */
export const source = '192.0.2.1';

/** Reserves 25 000 × (2 × 10 + 1) + 7 = 525 007 wei. */
export const quote: FeeQuote = {
  singleGas: 25_000n,
  baseFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
  dataFeeWei: 7n,
};
export const reservedWei = 525_007n;

export function randomHash(): Hex {
  return `0x${randomBytes(32).toString('hex')}`;
}

/** Looks like an address; the store accepts any wallet. */
export function newWallet(): string {
  return `0x${randomBytes(20).toString('hex')}`;
}

export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The key that each robot of a world starts with. */
export function apiKeyOf(robotId: string): string {
  return `svc_${robotId.replaceAll('-', '').padEnd(40, '0')}`;
}

export function keyHashOf(robotId: string): string {
  return sha256Hex(apiKeyOf(robotId));
}

/** Scenarios of the store contract in few words, run on the store under test. */
export class World {
  readonly clock: TestClock = createTestClock();
  #opened: OpenedStore | undefined;
  #nonce = 0;

  static async open(open: OpenStore, limits: StoreLimits = {}): Promise<World> {
    const world = new World();
    world.#opened = await open(world.clock, limits);
    world.store = world.#opened.store;
    return world;
  }

  declare store: Store;

  get now(): number {
    return this.clock.now();
  }

  async reopen(): Promise<void> {
    if (this.#opened !== undefined) this.store = await this.#opened.reopen();
  }

  async close(): Promise<void> {
    await this.#opened?.close();
  }

  challenge(wallet: string, changes: Partial<Challenge> = {}): Challenge {
    const nonce = randomBytes(16).toString('hex');
    const expiresAt = this.now + 600_000;
    return { nonce, wallet, message: `sign ${nonce}`, expiresAt, ...changes };
  }

  async savedChallenge(wallet: string, changes: Partial<Challenge> = {}): Promise<Challenge> {
    const challenge = this.challenge(wallet, changes);
    await this.store.saveChallenge(challenge, source);
    return challenge;
  }

  /** A sign-in with a challenge, which may open an account. */
  signIn(challenge: Challenge, changes: Partial<SignIn> = {}): SignIn {
    return {
      challenge,
      session: this.session(),
      mayOpen: true,
      grant: null,
      now: this.now,
      ...changes,
    };
  }

  session(changes: Partial<NewSession> = {}): NewSession {
    const id = uuid();
    return {
      id,
      tokenHash: sha256Hex(id),
      createdAt: this.now,
      expiresAt: this.now + 86_400_000,
      ...changes,
    };
  }

  /** Each code is of a source of its own, unless one is given. */
  async saveCliCode(source: string = uuid()): Promise<{ code: NewCliCode; saved: boolean }> {
    const code = {
      deviceHash: randomHash().slice(2),
      userHash: randomHash().slice(2),
      source,
      name: 'robot-lab',
      createdAt: this.now,
      expiresAt: this.now + 60_000,
    };
    return { code, saved: await this.store.saveCliCode(code) };
  }

  async savedCliCode(): Promise<NewCliCode> {
    return (await this.saveCliCode()).code;
  }

  /** An account with a grant. */
  async account(anchors = 100, gasWei = 10n ** 18n): Promise<string> {
    const wallet = newWallet();
    await this.grant(wallet, anchors, gasWei);
    return wallet;
  }

  async grant(wallet: string, anchors: number, gasWei: bigint): Promise<void> {
    await this.store.grantCredits({ id: uuid(), wallet, anchors, gasWei, note: '', now: this.now });
  }

  newRobot(wallet: string): NewRobot {
    const id = uuid();
    return {
      id,
      wallet,
      name: 'Picker 7',
      description: null,
      keyHash: keyHashOf(id),
      createdAt: this.now,
    };
  }

  async robot(wallet?: string): Promise<NewRobot> {
    const robot = this.newRobot(wallet ?? (await this.account()));
    await this.store.createRobot(robot);
    return robot;
  }

  newFleet(wallet: string, changes: Partial<NewFleet> = {}): NewFleet {
    return {
      id: uuid(),
      wallet,
      name: 'North hall',
      description: null,
      location: null,
      shift: null,
      tags: [],
      createdAt: this.now,
      ...changes,
    };
  }

  async fleet(wallet: string, changes: Partial<NewFleet> = {}): Promise<FleetRecord> {
    const created = await this.store.createFleet(this.newFleet(wallet, changes));
    if (created.outcome !== 'created') throw new Error('The fleet was not made');
    return created.fleet;
  }

  newTask(robotId: string, changes: Partial<NewTask> = {}): NewTask {
    return {
      id: uuid(),
      robotId,
      keyHash: keyHashOf(robotId),
      title: 'Pick order 17',
      description: null,
      expectedResult: null,
      occurredAt: null,
      createdAt: this.now,
      idGiven: false,
      isSigned: false,
      ...changes,
    };
  }

  async task(robotId: string): Promise<TaskRecord> {
    const created = await this.store.createTask(this.newTask(robotId));
    if (created.outcome !== 'created') throw new Error(`The task was not made: ${created.outcome}`);
    return created.task;
  }

  /** Hashes as the service makes them. */
  completion(task: TaskRecord | NewTask, evidence: JsonObject = { task: task.id }): NewCompletion {
    const proofHash = hashProof(evidence);
    const claimHash = hashClaim({
      created_at: formatTimestamp(task.createdAt),
      title: task.title,
      description: task.description,
      occurred_at: task.occurredAt,
    });
    return {
      taskId: task.id,
      robotId: task.robotId,
      keyHash: keyHashOf(task.robotId),
      proof: canonicalJson(evidence),
      proofHash,
      claimHash,
      leaf: leafHash({
        proof_hash: proofHash,
        task_id: task.id,
        robot_id: task.robotId,
        claim_hash: claimHash,
      }),
      statementHash: null,
      outcome: null,
      now: this.now,
    };
  }

  /** Saves a fee quote too, so that completions can be queued. */
  async lease(address = newWallet(), holder = 'server 1'): Promise<Lease> {
    const sender = { chainId, address };
    const lease = await this.store.acquireLease(sender, holder, leaseMs, this.now);
    if (lease === null) throw new Error('The lease is held by another');
    await this.store.saveChainStatus(lease, { quote, degraded: [], parked: 0, now: this.now });
    return lease;
  }

  /** The lease of the same holder after the store was opened again. */
  async regained({ sender, holder }: Lease): Promise<Lease> {
    return this.lease(sender, holder);
  }

  /** `count` tasks of one robot, each with its proof queued. */
  async queued(robotId: string, count: number): Promise<TaskRecord[]> {
    const tasks: TaskRecord[] = [];
    for (let i = 0; i < count; i += 1) tasks.push(await this.task(robotId));
    for (const task of tasks) await this.store.queueCompletion(this.completion(task));
    return tasks;
  }

  /** An attempt over the proofs given, under the next nonce of this world. */
  attempt(proofs: QueuedProof[], changes: Partial<NewAttempt> = {}): NewAttempt {
    const { freeLeaves = [] } = changes;
    const { payload } = commitLeaves([
      ...proofs.map(({ proofHash, leaf }) => ({ proof_hash: proofHash, leaf })),
      ...freeLeaves.map((leaf) => ({ proof_hash: leaf, leaf })),
    ]);
    return {
      id: uuid(),
      nonce: changes.nonce ?? this.#nonce++,
      payload: encodePayload(payload),
      root: payload.kind === 'batch' ? payload.root : null,
      leaves: proofs.map(({ taskId, leaf }) => ({ taskId, leaf })),
      freeLeaves,
      assigned: 0,
      variant: {
        txHash: randomHash(),
        rawTx: randomHash(),
        maxFeePerGas: 21n,
        maxPriorityFeePerGas: 1n,
      },
      spend: null,
      now: this.now,
      ...changes,
    };
  }

  /** Signs all queued proofs, at most `limit`. */
  async committed(lease: Lease, limit = 1024): Promise<NewAttempt> {
    const [proofs, nonce] = await Promise.all([
      this.store.listQueuedProofs(lease, limit),
      this.store.getNextNonce(lease),
    ]);
    const bare = this.attempt(proofs, nonce === null ? {} : { nonce });
    const attempt = { ...bare, variant: { ...bare.variant, ...anchorOf(lease, bare) } };
    await this.store.commitAttempt(lease, attempt);
    return attempt;
  }

  /** Another variant of the attempt, for twice the fees of `before`. */
  variant(before: Variant, changes: Partial<Variant> = {}): Variant {
    return {
      txHash: randomHash(),
      rawTx: randomHash(),
      maxFeePerGas: 2n * before.maxFeePerGas,
      maxPriorityFeePerGas: 2n * before.maxPriorityFeePerGas,
      ...changes,
    };
  }

  async replaced(lease: Lease, { id, variant: first }: NewAttempt): Promise<Variant> {
    const variant = this.variant(first);
    await this.store.addVariant(lease, id, variant, first.txHash, this.now);
    return variant;
  }

  async reorged(lease: Lease, ...attempts: { id: string }[]): Promise<void> {
    const reorged = attempts.map(({ id }) => id);
    await this.store.recordInclusionChanges(lease, { safe: [], finalized: [], reorged }, this.now);
  }

  mined(attempt: NewAttempt, changes: Partial<MinedVariant> = {}): MinedVariant {
    return {
      txHash: attempt.variant.txHash,
      blockNumber: 5n,
      blockHash: randomHash(),
      txIndex: 3,
      blockTimestamp: this.now,
      gasUsed: 22_280n,
      effectiveGasPrice: 11n,
      dataFeeWei: 3n,
      ...changes,
    };
  }

  async included(lease: Lease, limit?: number): Promise<NewAttempt> {
    const attempt = await this.committed(lease, limit);
    await this.store.recordBroadcast(lease, attempt.id, this.now);
    await this.store.recordInclusion(lease, attempt.id, this.mined(attempt), this.now);
    return attempt;
  }

  async settled(lease: Lease, limit?: number): Promise<NewAttempt> {
    const attempt = await this.included(lease, limit);
    while ((await this.store.settleLeaves(lease, attempt.id, 128, this.now)) > 0);
    return attempt;
  }
}

/** Passes when it rejects with a SvcError of this code. */
export function failsWith(code: string): object {
  return { name: 'SvcError', code };
}

/** The transaction of an attempt, an empty transfer from the lease's sender to itself, with a made-up signature. */
function anchorOf(
  { chainId, sender }: Lease,
  { nonce, payload }: NewAttempt,
): { txHash: Hex; rawTx: Hex } {
  const [none, one] = [new Uint8Array(), Uint8Array.of(1)];
  const raw = concatBytes(
    Uint8Array.of(2),
    encodeRlp([
      quantityBytes(chainId),
      quantityBytes(nonce),
      one,
      Uint8Array.of(21),
      quantityBytes(30_000),
      hexToBytes(sender.toLowerCase()),
      none,
      hexToBytes(payload),
      [],
      none,
      one,
      one,
    ]),
  );
  return { txHash: bytesToHex(keccak_256(raw)), rawTx: bytesToHex(raw) };
}
