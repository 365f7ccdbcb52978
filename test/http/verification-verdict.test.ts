import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Chain } from '../../src/chain/chain.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import type { Block } from '../../src/chain/read-block.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import type { Store } from '../../src/server/ports/store.ts';
import type { TaskRecord } from '../../src/server/ports/tasks.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { newWallet, World } from '../contract/world.ts';
import { serveStore } from '../support/store-service.ts';
import { blockWith } from '../support/synthetic-block.ts';

type Reading = Awaited<ReturnType<Chain['readAnchor']>>;
type Facts = Reading['facts'];

const stranger: Hex = `0x${'b2'.repeat(20)}`;
const otherHash: Hex = `0x${'cd'.repeat(32)}`;

const withOtherLastByte = (hex: Hex) => `${hex.slice(0, -2)}${hex.endsWith('00') ? '01' : '00'}`;

describe('public verification, by the answers of the chain', () => {
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

  type Reads = Partial<Pick<Chain, 'readAnchor' | 'readBlock' | 'readHeads' | 'readProvenBlock'>>;

  /** The service over a chain that answers so, and its verification of a proof hash. */
  async function verifierOf(readAnchor: Chain['readAnchor'], reads: Reads = {}) {
    const service = await serveStore(world, {
      readAnchor,
      readBlock: async () => null,
      readHeads: async () => ({ head: 7n, safe: 6n, finalized: 5n }),
      readProvenBlock: async () => null,
      ...reads,
    });
    onTestFinished(service.close);
    return (hash: Hex = proofHash) => service.call('GET', `/api/v1/verify/${hash}`);
  }

  async function verifyWith(hash: Hex, readAnchor: Chain['readAnchor'], reads: Reads = {}) {
    const verify = await verifierOf(readAnchor, reads);
    const { status, body } = await verify(hash);
    expect(status).toBe(200);
    return body;
  }

  const verifyAgainst = (facts: Partial<Facts>) =>
    verifyWith(proofHash, async () => ({ ...honest, facts: { ...honest.facts, ...facts } }));

  const unread = () => Promise.reject(new Error('The transaction was read'));

  const tx = (change: object) => ({ tx: { ...honest.facts.tx, ...change } as Facts['tx'] });

  it('is verified if everything matches', async () => {
    expect(await verifyAgainst({})).toMatchObject({
      verified: true,
      anchor: { on_chain_payload_found: true, finality: 'safe', confirmations: '3' },
    });
  });

  it.each<[string, () => Partial<Facts>, boolean]>([
    ['another sender', () => tx({ from: stranger, to: stranger }), true],
    ['a transfer to another account', () => tx({ to: stranger }), true],
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

  it('reports no chain data for a queued proof, and reads no chain', async () => {
    const queued = world.completion(await world.task(task.robotId), { run: randomUUID() });
    await world.store.queueCompletion(queued);

    expect(await verifyWith(queued.proofHash, unread)).toMatchObject({
      verified: false,
      task: { status: 'claimed' },
      anchor: { tx_hash: null, explorer_url: null, from: null, on_chain_payload_found: false },
    });
  });

  it('reports no chain data for a refused proof', async () => {
    const failed = world.completion(await world.task(task.robotId), { run: randomUUID() });
    await world.store.queueCompletion(failed);
    const lease = await world.lease(undefined, 'server 1');
    await world.store.failQueuedProofs(lease, [failed.taskId], 'reverted', world.now);

    expect(await verifyWith(failed.proofHash, unread)).toMatchObject({
      verified: false,
      anchor: { tx_hash: null, on_chain_payload_found: false, finality: null },
    });
  });

  it('reads the chain again for each request', async () => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      return honest;
    };
    const verify = await verifierOf(read);

    await verify();
    await verify();
    expect(reads).toBe(2);
  });

  describe('of a final anchor whose chain proof is stored', () => {
    let final: { proofHash: Hex; blockHash: Hex; txHash: Hex; timestamp: number };
    beforeAll(async () => {
      const lease = await world.lease(newWallet());
      const finalTask = await world.task(task.robotId);
      const completion = world.completion(finalTask, { run: randomUUID() });
      await world.store.queueCompletion(completion);
      const attempt = await world.committed(lease);
      const { proof, ...place } = blockWith(attempt.variant.rawTx);
      const mined = world.mined(attempt, place);
      await world.store.recordInclusion(lease, attempt.id, mined, world.now);
      await world.store.settleLeaves(lease, attempt.id, 5, world.now);
      const changes = { safe: [], finalized: [attempt.id], reorged: [] };
      await world.store.recordInclusionChanges(lease, changes, world.now);
      const [anchor] = await world.store.takeUnproven(1, { firstMs: 1, maxMs: 1 }, world.now);
      if (anchor === undefined) throw new Error('No chain proof is due');
      await world.store.recordChainProof(anchor, proof);
      final = {
        proofHash: completion.proofHash,
        blockHash: place.blockHash,
        txHash: attempt.variant.txHash,
        timestamp: mined.blockTimestamp,
      };
    });

    const blockNow = (changes: Partial<Block> = {}): Block => ({
      hash: final.blockHash,
      timestamp: final.timestamp,
      transactions: new Set([otherHash, final.txHash]),
      ...changes,
    });

    it('reads the block at its number and the heads, and nothing else', async () => {
      const numbers: bigint[] = [];
      const readBlock = async (number: bigint) => {
        numbers.push(number);
        return blockNow();
      };

      const view = await verifyWith(final.proofHash, unread, { readBlock });

      expect(view).toMatchObject({
        verified: true,
        anchor: { on_chain_payload_found: true, confirmations: '3', finality: 'finalized' },
      });
      expect(numbers).toEqual([5n]);
    });

    it('reports the current finality of the block', async () => {
      const readHeads = async () => ({ head: 5n, safe: 5n, finalized: null });

      const readBlock = async () => blockNow();

      const view = await verifyWith(final.proofHash, unread, { readBlock, readHeads });

      expect(view).toMatchObject({ anchor: { confirmations: '1', finality: 'safe' } });
    });

    it('is not verified if the time of the block differs', async () => {
      const readBlock = async () => blockNow({ timestamp: final.timestamp + 1_000 });

      expect(await verifyWith(final.proofHash, unread, { readBlock })).toMatchObject({
        verified: false,
      });
    });

    it.each<[string, () => Block | null]>([
      ['another block is at its number', () => blockNow({ hash: otherHash })],
      ['the block does not list the transaction', () => blockNow({ transactions: new Set() })],
      ['there is no block', () => null],
    ])('reads transaction and receipt, as for any other anchor, if %s', async (_, block) => {
      const nothing = { tx: null, receipt: null, canonical_block: null };
      const readAnchor = async (txHash: Hex) => {
        expect(txHash).toBe(final.txHash);
        return { facts: { chain_id: 31_337, ...nothing }, confirmations: null, finality: null };
      };

      const readBlock = async () => block();
      expect(await verifyWith(final.proofHash, readAnchor, { readBlock })).toMatchObject({
        verified: false,
        anchor: { on_chain_payload_found: false },
      });
    });

    it('fails with chain_unavailable if the block cannot be read', async () => {
      const readBlock = () => Promise.reject(new ProviderError('timeout'));
      const verify = await verifierOf(unread, { readBlock });

      const { status, body } = await verify(final.proofHash);

      expect([status, body.error]).toEqual([503, 'chain_unavailable']);
    });

    it('shares one read of the block and of the heads among simultaneous callers', async () => {
      const counts = { block: 0, heads: 0 };
      let found = 0;
      let release = () => {};
      const allFound = new Promise<void>((resolve) => {
        release = resolve;
      });
      const store: Store = Object.create(world.store, {
        findPublicAnchor: {
          value: async (...query: Parameters<Store['findPublicAnchor']>) => {
            const anchor = await world.store.findPublicAnchor(...query);
            found += 1;
            // After the callers that were answered before have asked for their reads.
            if (found === 50) setImmediate(release);
            return anchor;
          },
        },
      });
      const service = await serveStore(
        { store, clock: world.clock },
        {
          readBlock: async () => {
            counts.block += 1;
            await allFound;
            return blockNow();
          },
          readHeads: async () => {
            counts.heads += 1;
            await allFound;
            return { head: 7n, safe: 6n, finalized: 5n };
          },
        },
      );
      onTestFinished(service.close);

      const replies = await Promise.all(
        Array.from({ length: 50 }, () => service.call('GET', `/api/v1/verify/${final.proofHash}`)),
      );

      expect(replies.every(({ body }) => body.verified)).toBe(true);
      // The read in progress when the others came, and the one that started after they came.
      expect(counts).toEqual({ block: 2, heads: 2 });
    });
  });
});
