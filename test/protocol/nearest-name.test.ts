import { describe, expect, it } from 'vitest';
import { nearestName } from '../../src/protocol/nearest-name.ts';

const names = ['id', 'title', 'description', 'expected_result', 'occurred_at'];

describe('nearestName', () => {
  it.each([
    ['titel', 'title'],
    ['tilte', 'title'],
    ['Title', 'title'],
    ['titles', 'title'],
    ['descripton', 'description'],
    ['expectedResult', 'expected_result'],
    ['occured_at', 'occurred_at'],
    ['ids', 'id'],
    ['x', null],
    ['speed', null],
    ['constructor', null],
    ['', null],
  ])('finds for %s: %s', (word, name) => {
    expect(nearestName(word, names)).toBe(name);
  });

  it('prefers the name with the fewest mistakes', () => {
    expect(nearestName('to', ['from', 'two', 'too', 'To'])).toBe('To');
  });

  it('finds nothing without names or for a word of a megabyte', () => {
    expect(nearestName('title', [])).toBeNull();
    expect(nearestName('x'.repeat(2 ** 20), names)).toBeNull();
  });
});
