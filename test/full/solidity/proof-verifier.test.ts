import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditAnchor } from '../../../src/proof/audit-anchor.ts';
import { isProven } from '../../../src/proof/audit-check.ts';
import type { Hex } from '../../../src/proof/bytes.ts';
import { commitLeaves } from '../../../src/proof/commit-leaves.ts';
import { freeLeafHash, leafHash } from '../../../src/proof/leaf.ts';
import { decodePayload, encodePayload } from '../../../src/proof/payload.ts';
import { type Inclusion, merkleTree, rootFromPath } from '../../../src/proof/tree.ts';
import type { Verification } from '../../../src/protocol/resources.ts';
import { viewVerification } from '../../../src/server/core/tasks.ts';
import { type AnchoringRig, startAnchoringRig } from '../../support/anchoring-rig.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import {
  deployProofVerifier,
  type ProofVerifier,
  type Stated,
} from '../../support/proof-verifier.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Anchored {
  receipt: Verification;
  /** Calldata of the mined transaction. */
  payload: Hex;
}

const network = {
  name: 'Test chain',
  testnet: true,
  explorerUrl: 'https://explorer.test',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: [],
};

describe('ProofVerifier, with receipts of the service', () => {
  const sizes = [1, 2, 3, 5, 8, 33];
  const batches = new Map<number, Anchored[]>();
  let rig: AnchoringRig;
  let verifier: ProofVerifier;

  beforeAll(async () => {
    rig = await startAnchoringRig({ blockTime: 0.1 });
    verifier = await deployProofVerifier(rig.node);
    // The first fee quote makes completions possible; from then on whole batches wait for an anchorer.
    const first = rig.start();
    await waitFor('a fee quote', async () => (await rig.store.getChainStatus())?.quote);
    await first.drain();
    for (const size of sizes) batches.set(size, await anchorTogether(size));
  });

  afterAll(() => rig?.close());

  async function anchorTogether(size: number): Promise<Anchored[]> {
    const ids = await rig.queue(size);
    const anchorer = rig.start();
    const tasks = await rig.verified(ids);
    await anchorer.drain();
    const anchors = new Map((await rig.minedAnchors()).map(({ hash, input }) => [hash, input]));
    return tasks.map((task) => {
      const { completion } = task;
      if (!completion?.receipt) throw new Error('Verified without a receipt');
      const receipt = viewVerification(task, completion, completion.receipt, network);
      return { receipt, payload: anchors.get(receipt.tx_hash) as Hex };
    });
  }

  function batchOf(size: number): (Anchored & { inclusion: Inclusion })[] {
    return (batches.get(size) ?? []).map(({ receipt, payload }) => {
      if (receipt.inclusion?.leaf_count !== size) throw new Error(`Not a batch of ${size}`);
      return { receipt, payload, inclusion: receipt.inclusion };
    });
  }

  it('accepts a proof that was anchored as a single', async () => {
    const [{ receipt, payload }] = batches.get(1) as [Anchored];

    expect(receipt.inclusion).toBeNull();
    expect(await verifier.verifyPayload(payload, receipt, null)).toBe(true);
  });

  it.each(sizes.filter((size) => size > 1))(
    'accepts every proof of a batch of %i',
    async (size) => {
      const checks = batchOf(size).flatMap(({ receipt, payload, inclusion }) => [
        verifier.verifyInclusion(inclusion, receipt, inclusion),
        verifier.verifyPayload(payload, receipt, inclusion),
      ]);

      expect(await Promise.all(checks)).toEqual(Array(2 * size).fill(true));
    },
  );

  it('refuses a proof that was anchored as a single with any field forged', async () => {
    const [{ receipt, payload }] = batches.get(1) as [Anchored];
    const alone = { leaf_index: 0, path: [] };

    const verdicts = await Promise.all([
      ...forgedStatements(receipt).map((forged) => verifier.verifyPayload(payload, forged, null)),
      ...forgedBytes(payload).map((forged) => verifier.verifyPayload(forged, receipt, null)),
      verifier.verifyPayload(payload, receipt, { ...alone, leaf_index: 1 }),
      verifier.verifyPayload(payload, receipt, { ...alone, path: [receipt.proof_hash] }),
    ]);

    expect(new Set(verdicts)).toEqual(new Set([false]));
  });

  it.each(sizes.filter((size) => size > 1))(
    'refuses each end of a batch of %i with any field forged',
    async (size) => {
      const batch = batchOf(size);
      const ends = [batch.at(0), batch.at(-1)].filter((end) => end !== undefined);

      const verdicts = ends.flatMap(({ receipt, inclusion: tree }) => [
        ...forgedStatements(receipt).map((forged) => verifier.verifyInclusion(tree, forged, tree)),
        ...forgedInclusions(tree).map((forged) =>
          verifier.verifyInclusion(forged, receipt, forged),
        ),
      ]);

      expect(new Set(await Promise.all(verdicts))).toEqual(new Set([false]));
    },
  );

  it.each(sizes.filter((size) => size > 1))(
    'refuses the calldata of a batch of %i with any byte of the header or root changed, cut or extended',
    async (size) => {
      const [{ receipt, payload, inclusion }] = batchOf(size) as [ReturnType<typeof batchOf>[0]];

      const verdicts = forgedBytes(payload, 38).map((forged) =>
        verifier.verifyPayload(forged, receipt, inclusion),
      );

      expect(new Set(await Promise.all(verdicts))).toEqual(new Set([false]));
    },
  );

  it('accepts signed work, claims and key texts by their leaves', async () => {
    const [{ receipt }] = batches.get(1) as [Anchored];
    const hash = `0x${'5a'.repeat(32)}`;
    const leaves = [
      leafHash({ ...receipt, statement_hash: hash }),
      freeLeafHash('claim', hash),
      freeLeafHash('key_text', hash),
    ];
    const proofs = leaves.map((leaf) => ({ proof_hash: receipt.proof_hash as Hex, leaf }));
    const { payload, inclusions } = commitLeaves(proofs);
    const [alone] = leaves as [Hex];
    const single = encodePayload(commitLeaves(proofs.slice(0, 1)).payload);
    const inclusionAt = (i: number) => inclusions[i] as Inclusion;

    const accepted = await Promise.all([
      ...leaves.map((leaf, i) =>
        verifier.verifyPayloadLeaf(encodePayload(payload), leaf, inclusionAt(i)),
      ),
      ...leaves.map((leaf, i) => verifier.verifyLeaf(inclusionAt(i), leaf, inclusionAt(i))),
      verifier.verifyPayloadLeaf(single, alone, null),
    ]);
    const refused = await Promise.all([
      ...leaves.map((leaf, i) =>
        verifier.verifyPayloadLeaf(encodePayload(payload), leaf, inclusionAt((i + 1) % 3)),
      ),
      verifier.verifyLeaf(inclusionAt(0), leafHash(receipt), inclusionAt(0)),
      verifier.verifyPayloadLeaf(single, leafHash(receipt), null),
    ]);

    expect([new Set(accepted), new Set(refused)]).toEqual([new Set([true]), new Set([false])]);
  });

  it('refuses a batch of one, which is not a payload', async () => {
    const [{ receipt }] = batches.get(1) as [Anchored];
    const leaf = leafHash(receipt);
    const payload = `0x525450410101${leaf.slice(2)}00000001`;

    expect(decodePayload(payload)).toBeNull();
    expect(await verifier.verifyPayload(payload, receipt, null)).toBe(false);
    expect(
      await verifier.verifyInclusion({ root: leaf, leaf_count: 1 }, receipt, {
        leaf_index: 0,
        path: [],
      }),
    ).toBe(true);
  });
});

describe('ProofVerifier and src/proof', () => {
  let node: TestChain;
  let verifier: ProofVerifier;
  beforeAll(async () => {
    node = await startTestChain();
    verifier = await deployProofVerifier(node);
  });
  afterAll(() => node?.close());

  const bytes = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((all) => Buffer.from(all));
  const hash = bytes(32).map((all): Hex => `0x${all.toString('hex')}`);
  const statement = fc.record({
    proof_hash: hash,
    task_id: fc.uuid(),
    robot_id: fc.uuid(),
    claim_hash: hash,
  });

  it('compute the same leaf', async () => {
    await fc.assert(
      fc.asyncProperty(statement, async (stated) => {
        expect(await verifier.leafHash(stated)).toBe(leafHash(stated));
      }),
    );
  });

  it('give the same verdict on an inclusion, true or forged', async () => {
    const seen = { true: 0, false: 0 };
    await fc.assert(
      fc.asyncProperty(
        statement,
        fc.array(hash, { maxLength: 40 }),
        fc.nat(40),
        fc.array(bend(hash), { maxLength: 2 }),
        async (stated, others, at, bends) => {
          const index = at % (others.length + 1);
          const tree = merkleTree(others.toSpliced(index, 0, leafHash(stated)));
          const honest: Inclusion = {
            root: tree.root,
            leaf_index: index,
            leaf_count: others.length + 1,
            path: tree.path(index),
          };
          const bent = bends.reduce((inclusion, change) => change(inclusion), honest);
          const expected = rootFromPath(leafHash(stated), bent) === bent.root;

          expect(await verifier.verifyInclusion(bent, stated, bent)).toBe(expected);
          seen[`${expected}`] += 1;
        },
      ),
      { numRuns: 400 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(40);
  });

  it('agree on the length of the path in trees of up to 2^32 - 1 leaves', async () => {
    await fc.assert(
      fc.asyncProperty(
        statement,
        fc.integer({ min: 1, max: 2 ** 32 - 1 }),
        fc.nat(2 ** 32 - 1),
        fc.array(hash, { minLength: 34, maxLength: 34 }),
        async (stated, leaf_count, at, hashes) => {
          const leaf_index = at % leaf_count;
          const lengths = await Promise.all(
            hashes.map(async (_, length) => {
              const path = hashes.slice(0, length);
              const root = rootFromPath(leafHash(stated), { leaf_index, leaf_count, path });
              const tree = { root: root ?? hashes[33] ?? '', leaf_count };
              const holds = await verifier.verifyInclusion(tree, stated, { leaf_index, path });
              expect(holds).toBe(root !== null);
              return holds;
            }),
          );
          expect(lengths.filter(Boolean)).toHaveLength(1);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('refuse a path that continues above the root, even with the hash it leads to', async () => {
    await fc.assert(
      fc.asyncProperty(
        statement,
        fc.array(hash, { maxLength: 8 }),
        hash,
        async (stated, others, more) => {
          const tree = merkleTree([leafHash(stated), ...others]);
          const honest = { leaf_index: 0, leaf_count: others.length + 1, path: tree.path(0) };
          const beyond = { ...honest, path: [...honest.path, more] };

          for (const pair of [
            [more, tree.root],
            [tree.root, more],
          ]) {
            const { root } = merkleTree(pair);
            expect(await verifier.verifyInclusion({ ...beyond, root }, stated, beyond)).toBe(false);
          }
          expect(rootFromPath(leafHash(stated), beyond)).toBeNull();
        },
      ),
      { numRuns: 30 },
    );
  });

  it('give the same verdict on calldata, true or forged', async () => {
    const seen = { true: 0, false: 0 };
    await fc.assert(
      fc.asyncProperty(
        statement,
        fc.array(hash, { maxLength: 9 }),
        fc.option(fc.tuple(fc.nat(71), fc.nat(255)), { nil: null }),
        async (stated, others, change) => {
          const leaves = [leafHash(stated), ...others];
          const { payload, inclusions } = commitLeaves(
            leaves.map((leaf) => ({ leaf, proof_hash: stated.proof_hash as Hex })),
          );
          const calldata = change === null ? encodePayload(payload) : put(payload, change);
          const read = decodePayload(calldata);
          const inclusion = inclusions[0] ?? null;
          const trusted = read?.kind === 'batch' ? { leaf_count: read.leaf_count } : {};
          const expected = isAnchoredIn(
            calldata,
            stated,
            inclusion && { ...inclusion, ...trusted },
          );

          expect(await verifier.verifyPayload(calldata, stated, inclusion)).toBe(expected);
          seen[`${expected}`] += 1;
        },
      ),
      { numRuns: 200 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(20);
  });
});

/** `src/proof`'s verdict on calldata alone: everything else about the transaction is as it should be. */
function isAnchoredIn(input: Hex, stated: Stated, inclusion: Inclusion | null): boolean {
  const [tx_hash, account, block] = [
    `0x${'11'.repeat(32)}`,
    `0x${'22'.repeat(20)}`,
    '0x33',
  ] as const;
  const checks = auditAnchor(
    { ...stated, chain_id: 1, tx_hash, inclusion },
    {
      chain_id: 1,
      tx: { hash: tx_hash, from: account, to: account, value: '0', input },
      receipt: { status: 'success', block_number: '1', block_hash: block, tx_index: 0 },
      canonical_block: { hash: block, number: '1', timestamp: '' },
    },
  );
  return isProven(checks);
}

function put(payload: Parameters<typeof encodePayload>[0], [at, byte]: [number, number]): Hex {
  const bytes = Buffer.from(encodePayload(payload).slice(2), 'hex');
  const changed = at < bytes.length ? Buffer.from(bytes.with(at, byte)) : bytes.subarray(1);
  return `0x${changed.toString('hex')}`;
}

type Bend = (inclusion: Inclusion) => Inclusion;

function bend(hash: fc.Arbitrary<Hex>): fc.Arbitrary<Bend> {
  return fc.oneof(
    hash.map(
      (root): Bend =>
        (inclusion) => ({ ...inclusion, root }),
    ),
    fc.nat(45).map(
      (leaf_index): Bend =>
        (inclusion) => ({ ...inclusion, leaf_index }),
    ),
    fc.nat(45).map(
      (leaf_count): Bend =>
        (inclusion) => ({ ...inclusion, leaf_count }),
    ),
    fc.tuple(hash, fc.nat(7)).map(
      ([extra, at]): Bend =>
        (inclusion) => ({ ...inclusion, path: inclusion.path.toSpliced(at, 0, extra) }),
    ),
    fc.nat(7).map(
      (at): Bend =>
        (inclusion) => ({ ...inclusion, path: inclusion.path.toSpliced(at, 1) }),
    ),
    fc.constant<Bend>((inclusion) => ({ ...inclusion, path: inclusion.path.toReversed() })),
  );
}

function forgedStatements(receipt: Stated): Stated[] {
  const { proof_hash, task_id, robot_id, claim_hash } = receipt;
  const stated = { proof_hash, task_id, robot_id, claim_hash };
  return [
    ...Object.entries(stated).map(([name, value]) => ({
      ...stated,
      [name]: otherLastDigit(value),
    })),
    { ...stated, proof_hash: claim_hash, claim_hash: proof_hash },
    { ...stated, task_id: robot_id, robot_id: task_id },
  ];
}

function forgedInclusions(honest: Inclusion): Inclusion[] {
  const { leaf_index, leaf_count, path } = honest;
  const forged: Partial<Inclusion>[] = [
    { root: otherLastDigit(honest.root) },
    { leaf_index: leaf_index === 0 ? 1 : leaf_index - 1 },
    { leaf_index: leaf_count },
    { leaf_index: 2 ** 32 - 1 },
    { leaf_count: 2 * leaf_count },
    { leaf_count: leaf_index },
    { leaf_count: 1 },
    { leaf_count: 0 },
    { path: [] },
    { path: path.slice(1) },
    { path: path.slice(0, -1) },
    { path: [...path, honest.root] },
    { path: [honest.root, ...path] },
    ...path.map((step, i) => ({ path: path.with(i, otherLastDigit(step)) })),
  ];
  return forged.map((change) => ({ ...honest, ...change }));
}

/** The calldata with each of its first bytes changed in turn, one byte short, and one byte long. */
function forgedBytes(payload: Hex, count = payload.length / 2 - 1): Hex[] {
  const bytes = Buffer.from(payload.slice(2), 'hex');
  const changed = Array.from({ length: count }, (_, i) => bytes.with(i, (bytes[i] ?? 0) ^ 1));
  return [
    ...changed,
    bytes.subarray(1),
    bytes.subarray(0, -1),
    Buffer.concat([bytes, bytes.subarray(0, 1)]),
  ].map((forged): Hex => `0x${Buffer.from(forged).toString('hex')}`);
}

function otherLastDigit(text: string): string {
  return `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;
}
