import { expect, it } from 'vitest';
import { isShown } from '../../support/shown-output.ts';

const one = '01a1fa88-6262-702f-af77-0aaec0d1b17b';
const other = '01a1fa88-625b-75cb-b0f4-68b936962d71';

it.each([
  ['the same text', 'ready', 'ready'],
  ['gaps of another width', 'ID   NAME', 'ID        NAME'],
  ['another id', one, other],
  ['another time', 'at 2026-11-20T19:56:45.000Z', 'at 2027-01-01T00:00:00.123Z'],
  ['another depth', '1 confirmation, included', '12 confirmations, finalized'],
  ['lines left out', 'first\n…\nlast', 'first\nsecond\nthird\nlast'],
  ['text left out', 'took … in all', 'took 3 s in all'],
])('accepts %s as the shown output', (_, shown, actual) => {
  expect(isShown(shown, actual, new Map())).toBe(true);
});

it.each([
  ['another word', 'verified', 'NOT verified'],
  ['a line more', 'first', 'first\nsecond'],
  ['a line less', 'first\nsecond', 'first'],
  ['another number', '12 parcels', '13 parcels'],
  ['what is no id', one, 'none'],
  ['a sign that patterns know', 'a.b', 'axb'],
  ['what stands where a line was left out of it', 'a … c', 'a\nb\nc'],
])('does not accept %s as the shown output', (_, shown, actual) => {
  expect(isShown(shown, actual, new Map())).toBe(false);
});

it('requires an id to be the same everywhere on the page', () => {
  const bindings = new Map([[one, other]]);

  expect(isShown(one, other, bindings)).toBe(true);
  expect(isShown(one, one, bindings)).toBe(false);
  expect(isShown('ffffffff-6262-702f-af77-0aaec0d1b17b', other, bindings)).toBe(false);
});
