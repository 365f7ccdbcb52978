import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { nextNumber } from '../../src/server/rules/identity.ts';
import { placeOf, type SameNumber } from '../../src/server/rules/statements.ts';

/** Statements with one number: few enough that they repeat, and more than are kept. */
const statements = fc.array(
  fc.record({ content: fc.nat({ max: 29 }), epoch: fc.constantFrom('one', 'two', 'three') }),
  { maxLength: 60 },
);

type Drawn = { content: number; epoch: string };

function store(stored: SameNumber[], { content, epoch }: Drawn): string {
  const signedHash = `0x${content}-${epoch}` as const;
  const statementHash = `0x${content}-${epoch}-signed` as const;
  const { place, answer } = placeOf(stored, { signedHash, epoch, statementHash });
  if (place !== null) stored.push({ place, signedHash, statementHash, epoch });
  return answer.outcome;
}

describe('statements with the same number', () => {
  it('get places without gaps, one that counts in each epoch, and no more than are kept', () => {
    fc.assert(
      fc.property(statements, (all) => {
        const stored: SameNumber[] = [];
        const outcomes = all.map((one) => store(stored, one));

        expect(stored.map(({ place }) => place)).toEqual(stored.map((_, i) => i + 1));
        expect(stored.length).toBeLessThanOrEqual(limits.statementsPerNumber);
        const epochs = new Set(stored.map(({ epoch }) => epoch));
        expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(epochs.size);
      }),
    );
  });

  it('are decided in the same way when they are repeated, and nothing is stored', () => {
    fc.assert(
      fc.property(statements, (all) => {
        const stored: SameNumber[] = [];
        const first = all.map((one) => store(stored, one));
        const before = stored.length;
        const again = all.map((one) => store(stored, one));

        expect(stored).toHaveLength(before);
        expect(again).toEqual(
          first.map((outcome) => (outcome === 'stored' ? 'repeated' : outcome)),
        );
      }),
    );
  });
});

it('gives the next key a number above all that were used or that a revocation names', () => {
  const number = fc.option(fc.nat());
  fc.assert(
    fc.property(fc.array(fc.record({ lastNumber: number, highest: number })), (keys) => {
      const next = nextNumber(keys);

      for (const { lastNumber, highest } of keys) {
        expect(next).toBeGreaterThan(Math.max(lastNumber ?? 0, highest ?? 0));
      }
      expect(next).toBeGreaterThanOrEqual(1);
    }),
  );
});
