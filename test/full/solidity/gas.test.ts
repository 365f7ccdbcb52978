import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitLeaves } from '../../../src/proof/commit-leaves.ts';
import { leafHash } from '../../../src/proof/leaf.ts';
import { encodePayload } from '../../../src/proof/payload.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { deployProofVerifier, type ProofVerifier } from '../../support/proof-verifier.ts';

const page = readFileSync(new URL('../../../docs/anchoring.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| (\d+) \| (\d+) \| (?:–|(\d+) gas) \| (\d+) gas \|$/gm)];

describe('the gas that docs/anchoring.md states', () => {
  const stated = {
    proof_hash: `0x${'a1'.repeat(32)}`,
    task_id: '01940000-0000-7000-8000-000000000001',
    robot_id: '01940000-0000-7000-8000-000000000002',
    claim_hash: `0x${'c2'.repeat(32)}`,
  } as const;
  let node: TestChain;
  let verifier: ProofVerifier;
  beforeAll(async () => {
    node = await startTestChain();
    verifier = await deployProofVerifier(node);
  });
  afterAll(() => node?.close());

  it('is stated for one proof and for batches', () => {
    expect(rows.map(([, leaves]) => leaves)).toEqual(['1', '2', '8', '33', '256', '1024']);
  });

  it.each(rows.map(([, ...row]) => row))(
    'is the cost of a check among %s leaves',
    async (leafCount, steps, inclusionGas, payloadGas) => {
      const { proof_hash } = stated;
      const others = Array.from({ length: Number(leafCount) - 1 }, () => proof_hash);
      const { payload, inclusions } = commitLeaves(
        [leafHash(stated), ...others].map((leaf) => ({ proof_hash, leaf })),
      );
      const inclusion = inclusions[0] ?? null;

      expect(inclusion?.path.length ?? 0).toBe(Number(steps));
      if (inclusion !== null) {
        const measured = await verifier.inclusionGas(inclusion, stated, inclusion);
        expect(measured).toBe(BigInt(inclusionGas ?? 0));
      }
      const measured = await verifier.payloadGas(encodePayload(payload), stated, inclusion);
      expect(measured).toBe(BigInt(payloadGas ?? 0));
    },
  );
});
