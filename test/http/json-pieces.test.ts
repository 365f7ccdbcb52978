import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonPieces } from '../../src/server/http/server/representations.ts';

const body = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));

it('the pieces of a body join to its JSON text', () => {
  fc.assert(
    fc.property(body, (value) => {
      expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
    }),
  );
});

it('each piece is short, however many items there are', () => {
  const items = Array.from({ length: 1000 }, () => 'x'.repeat(1000));

  const pieces = [...jsonPieces({ items, next_cursor: null })];

  expect(pieces.length).toBeGreaterThan(50);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(20_000);
});
