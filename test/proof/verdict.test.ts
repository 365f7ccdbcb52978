import { describe, expect, it } from 'vitest';
import { auditBundleAlone } from '../../src/proof/audit-bundle.ts';
import { auditChainProof } from '../../src/proof/chain-proof.ts';
import {
  reasonsOf,
  unchangedSince,
  type VerdictCheckName,
} from '../../src/proof/subject/verdict.ts';
import { batch, forgeries, single } from '../support/forged-bundles.ts';

const failing = (...names: VerdictCheckName[]) =>
  reasonsOf(names.map((name) => ({ name, ok: false })));

const ofLeaf =
  "The title or description of the task, its id, its times or the robot's id differ from what was anchored.";

describe('reasonsOf', () => {
  it('is empty if every check passed', () => {
    expect(reasonsOf([{ name: 'chain', ok: true }])).toEqual([]);
  });

  it.each(forgeries.filter(({ failed }) => failed !== null))(
    'gives a reason without terms of the format for $name',
    ({ failed }) => {
      const reasons = failing(...(failed ?? []));

      expect(reasons.length).toBeGreaterThan(0);
      expect(reasons.join(' ')).not.toMatch(
        /calldata|leaf|root|trie|header|hex|RLP|receipt|revert/i,
      );
    },
  );

  it.each<[string, VerdictCheckName[], string]>([
    ['changed evidence', ['evidence'], 'The evidence was changed.'],
    ['a changed claim', ['leaf'], ofLeaf],
    [
      'a changed claim in a batch',
      ['inclusion_path'],
      "The title or description of the task, its times or the robot's id differ from what was anchored, or the path in this file is damaged.",
    ],
    ['evidence replaced together with its hash', ['proof_hash', 'leaf'], 'replaced together'],
    ['another transaction', ['root', 'inclusion_path'], 'another group of proofs'],
    ['a missing transaction', ['transaction_found', 'sender', 'leaf'], 'was not found'],
    ['another sender', ['sender', 'leaf'], 'another account than expected'],
    ['nodes that disagree', ['anchored_at', 'rpc_agreement'], 'The nodes do not report the same'],
  ])('gives one reason for %s', (_, names, reason) => {
    const [first, ...others] = failing(...names);

    expect(first).toContain(reason);
    expect(others).toEqual([]);
  });

  it('gives one reason each for the evidence, the files and the anchor', () => {
    expect(failing('anchored_at', 'file', 'evidence')).toEqual([
      'The evidence was changed.',
      'A file is not as the evidence lists it, or was not given.',
      'The block of the anchor has another time than stated.',
    ]);
  });

  it.each([
    ['alone', single, ofLeaf],
    ['in a batch', batch, 'the path in this file is damaged'],
  ])('explains a changed title of a bundle anchored %s', (_, { bundle, blockHash }, reason) => {
    const changed = { ...bundle, claim: { ...bundle.claim, title: 'Rest' } };

    expect(reasonsOf(auditChainProof(changed, blockHash)).join()).toContain(reason);
    expect(reasonsOf(auditBundleAlone(changed)).join()).toContain(reason);
  });

  it('explains a changed title of a bundle without a chain proof', () => {
    const { chain_proof: _, ...rest } = single.bundle;
    const bundle = { ...rest, format: 'svc-bundle/1' } as const;
    const changed = { ...bundle, claim: { ...bundle.claim, title: 'Rest' } };

    expect(reasonsOf(auditBundleAlone(changed)).join()).toContain('one of them was changed');
  });
});

describe('unchangedSince', () => {
  it('returns the minute of the block in UTC', () => {
    expect(unchangedSince('2026-03-01T08:15:30.000Z', { evidence: true })).toBe(
      'This evidence has not changed since 1 March 2026, 08:15 UTC (block time).',
    );
    expect(unchangedSince('2026-12-31T23:59:59.000Z', { evidence: false })).toBe(
      'The evidence with this hash has not changed since 31 December 2026, 23:59 UTC (block time).',
    );
  });
});

describe('auditBundleAlone', () => {
  it('does not claim that a block hash was given', () => {
    const details = auditBundleAlone(single.bundle).map(({ detail }) => detail);

    expect(details[0]).toBe('The block header hashes to the block hash in the bundle');
    expect(details.join()).not.toContain('given');
  });
});
