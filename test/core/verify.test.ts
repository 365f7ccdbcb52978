import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { Deps } from '../../src/server/core/deps.ts';
import { createAnchorReader, verifyProofHash } from '../../src/server/core/verification.ts';
import type { Chain } from '../../src/server/ports/chain.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { World } from '../contract/world.ts';

type Reading = Awaited<ReturnType<Chain['readAnchor']>>;
type Facts = Reading['facts'];

const stranger: Hex = `0x${'b2'.repeat(20)}`;
const otherHash: Hex = `0x${'cd'.repeat(32)}`;

const withOtherLastByte = (hex: Hex) => `${hex.slice(0, -2)}${hex.endsWith('00') ? '01' : '00'}`;

describe('public verification, by what the chain holds', () => {
  let world: World;
  let task: TaskRecord;
  let proofHash: Hex;
  let honest: Reading;
  beforeAll(async () => {
    world = await World.open(openTemporarySqlite);
    const lease = await world.lease();
    task = await world.task((await world.robot()).id);
    const completion = world.completion(task, { run: randomUUID() });
    proofHash = completion.proofHash;
    await world.store.queueCompletion(completion);
    const attempt = await world.settled(lease);
    const receipt = (await world.store.findPublicAnchor(proofHash, null))?.task.completion?.receipt;
    if (!receipt) throw new Error('The proof was not settled');
    const sender = lease.sender as Hex; // as the world makes it
    honest = {
      facts: {
        chain_id: receipt.chainId,
        tx: { hash: receipt.txHash, from: sender, to: sender, value: '0', input: attempt.payload },
        receipt: { status: 'success', block_number: '5', block_hash: otherHash, tx_index: 0 },
        canonical_block: {
          hash: otherHash,
          number: '5',
          timestamp: new Date(receipt.anchoredAt).toISOString(),
        },
      },
      confirmations: 3n,
      finality: 'safe',
    };
  });
  afterAll(() => world.close());

  function depsWith(readAnchor: Chain['readAnchor'], verifyMaxAgeMs = 0) {
    const deps = {
      store: world.store,
      clock: world.clock,
      settings: { chainId: 31_337, verifyMaxAgeMs },
      network: async () => ({ explorerUrl: 'https://explorer.test' }),
    } as unknown as Deps; // what a verification works with
    const reader = createAnchorReader({ readAnchor }, () => verifyMaxAgeMs);
    return (hash: Hex = proofHash) => verifyProofHash(deps, reader, hash, null);
  }

  const verifyAgainst = (facts: Partial<Facts>) =>
    depsWith(async () => ({ ...honest, facts: { ...honest.facts, ...facts } }))();

  const tx = (change: object) => ({ tx: { ...honest.facts.tx, ...change } as Facts['tx'] });

  it('is verified when all of it holds', async () => {
    expect(await verifyAgainst({})).toMatchObject({
      verified: true,
      anchor: { on_chain_payload_found: true, finality: 'safe', confirmations: '3' },
    });
  });

  it.each<[string, () => Partial<Facts>, boolean]>([
    ['another sender', () => tx({ from: stranger, to: stranger }), true],
    ['a transfer to somebody else', () => tx({ to: stranger }), true],
    ['a transfer of value', () => tx({ value: '1' }), true],
    ['another chain', () => ({ chain_id: 1 }), true],
    [
      'a reverted transaction',
      () => ({
        receipt: { status: 'reverted', block_number: '5', block_hash: otherHash, tx_index: 0 },
      }),
      true,
    ],
    [
      'another block',
      () => ({
        receipt: { status: 'success', block_number: '6', block_hash: otherHash, tx_index: 0 },
      }),
      true,
    ],
    [
      'a block that is no longer canonical',
      () => ({ canonical_block: { hash: stranger, number: '5', timestamp: '' } }),
      true,
    ],
    ['no canonical block', () => ({ canonical_block: null }), true],
    ['a transaction in no block', () => ({ receipt: null }), false],
    ['no transaction', () => ({ tx: null, receipt: null, canonical_block: null }), false],
    ['other calldata', () => tx({ input: '0x' }), false],
    [
      'calldata of another proof',
      () => tx({ input: withOtherLastByte(honest.facts.tx?.input ?? '0x00') }),
      false,
    ],
    ['calldata with more behind it', () => tx({ input: `${honest.facts.tx?.input}00` }), false],
  ])('is not verified for %s', async (_, facts, found) => {
    const view = await verifyAgainst(facts());

    expect(view.verified).toBe(false);
    expect(view.anchor.on_chain_payload_found).toBe(found);
  });

  it('claims nothing of a chain for a queued proof, and reads none', async () => {
    const queued = world.completion(await world.task(task.robotId), { run: randomUUID() });
    await world.store.queueCompletion(queued);
    const verify = depsWith(() => Promise.reject(new Error('read')));

    expect(await verify(queued.proofHash)).toMatchObject({
      verified: false,
      task: { status: 'claimed' },
      anchor: { tx_hash: null, explorer_url: null, from: null, on_chain_payload_found: false },
    });
  });

  it('claims nothing of a chain for a proof that was refused', async () => {
    const failed = world.completion(await world.task(task.robotId), { run: randomUUID() });
    await world.store.queueCompletion(failed);
    const lease = await world.lease(undefined, 'server 1');
    await world.store.refuseQueuedProofs(lease, [failed.taskId], 'reverted', world.now);
    const verify = depsWith(() => Promise.reject(new Error('read')));

    expect(await verify(failed.proofHash)).toMatchObject({
      verified: false,
      anchor: { tx_hash: null, on_chain_payload_found: false, finality: null },
    });
  });

  it('reads the chain anew for each request, unless an age is allowed', async () => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      return honest;
    };
    const fresh = depsWith(read);
    const relaxed = depsWith(read, 60_000);

    await fresh();
    await fresh();
    expect(reads).toBe(2);
    await relaxed();
    await relaxed();
    expect(reads).toBe(3);
  });
});
