import { describe, expect, it } from 'vitest';
import { headerAt, headerOf } from '../../src/chain/decode.ts';
import { ProviderError } from '../../src/chain/errors.ts';

const block = { number: '0x10', hash: `0x${'ab'.repeat(32)}`, timestamp: '0x1' };
const quantity = (value: number) => `0x${value.toString(16)}`;

describe('headerOf', () => {
  it('accepts a time up to the last representable second', () => {
    const last = Date.parse('9999-12-31T23:59:59.000Z');

    expect(headerOf({ ...block, timestamp: quantity(last / 1000) })?.timestamp).toBe(last);
  });

  it.each([253_402_300_800, Number.MAX_SAFE_INTEGER])('rejects the time %i', (seconds) => {
    expect(() => headerOf({ ...block, timestamp: quantity(seconds) })).toThrow(ProviderError);
  });
});

describe('headerAt', () => {
  it('returns the block of the requested number', () => {
    expect(headerAt(16n, block)?.hash).toBe(block.hash);
    expect(headerAt(16n, null)).toBeNull();
  });

  it('rejects a block with a number other than requested', () => {
    expect(() => headerAt(17n, block)).toThrow(ProviderError);
  });
});
