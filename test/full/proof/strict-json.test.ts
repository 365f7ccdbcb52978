import { describe, expect, it } from 'vitest';
import { isProof } from '../../../src/proof/json-value.ts';
import { parseStrictJson } from '../../../src/proof/strict-json.ts';
import { refusalOf } from '../../proof/refusal.ts';

function nested(levels: number, inner = ''): string {
  return '['.repeat(levels) + inner + ']'.repeat(levels);
}

describe('nesting', () => {
  it('is handled for a million levels, closed or not, with or without a limit', () => {
    const closed = '{"a":['.repeat(150_000) + ']}'.repeat(150_000);

    expect(refusalOf(() => parseStrictJson(nested(1_000_000))).kind).toBe('fault');
    expect(refusalOf(() => parseStrictJson('['.repeat(2_000_000))).kind).toBe('syntax');
    expect(isProof(parseStrictJson(closed, { maxDepth: 300_000 }))).toBe(true);
  });
});
