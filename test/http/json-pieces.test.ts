import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonPieces } from '../../src/server/http/server/representations.ts';

const body = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));

it('are together the JSON text of the body', () => {
  fc.assert(
    fc.property(body, (value) => {
      expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
    }),
  );
});

it('are short, however many items there are', () => {
  const items = Array.from({ length: 1000 }, () => 'x'.repeat(1000));

  const pieces = [...jsonPieces({ items, next_cursor: null })];

  expect(pieces.length).toBeGreaterThan(50);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(20_000);
});
