import { validate, version } from 'uuid';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

let newId: () => string;

// The module keeps the newest time that it has seen.
beforeEach(async () => {
  vi.resetModules();
  ({ newId } = await import('../../src/base/new-id.ts'));
});
afterEach(() => vi.restoreAllMocks());

test('makes UUIDs of version 7 with the time in front', () => {
  const before = Date.now();
  const id = newId();
  expect(validate(id) && version(id)).toBe(7);
  const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
});

test('makes ids that only grow, however many in a millisecond and when the clock goes back', () => {
  const now = Date.now() + 1_000;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
  const ids = Array.from({ length: 3_000 }, newId);
  clock.mockReturnValue(now - 60_000);
  ids.push(...Array.from({ length: 3_000 }, newId));
  expect(ids).toEqual([...new Set(ids)].toSorted());
});
