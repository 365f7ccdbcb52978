import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareMembers, countMembers } from '../../src/dashboard/views/task/comparison.ts';

it.each([
  ['equal values', { boxes: 12 }, { boxes: 12.0 }, ['/boxes equal']],
  ['another value', { boxes: 12 }, { boxes: 11 }, ['/boxes differs']],
  ['another type', { boxes: 12 }, { boxes: '12' }, ['/boxes differs']],
  ['null and nothing', { note: null }, {}, ['/note missing']],
  ['null and a document', { at: null }, { at: {} }, ['/at differs']],
  ['a member that was not asked for', {}, { seconds: 3 }, ['/seconds additional']],
  [
    'nested members',
    { dock: { row: 1, lane: 2 } },
    { dock: { lane: 2 } },
    ['/dock/row missing', '/dock/lane equal'],
  ],
  [
    'elements in their order',
    { ids: [1, 2] },
    { ids: [2, 2, 3] },
    ['/ids/0 differs', '/ids/1 equal', '/ids/2 additional'],
  ],
  ['an object and an array', { ids: { 0: 1 } }, { ids: [1] }, ['/ids differs']],
  ['empty documents', { ids: [], at: {} }, { ids: [], at: {} }, ['/ids equal', '/at equal']],
  ['evidence that is a list', { boxes: 12 }, [12], [' differs']],
  ['names with a slash', { 'a/b~c': 1 }, { 'a/b~c': 1 }, ['/a~1b~0c equal']],
])('compares %s', (_, expected, evidence, rows) => {
  const members = compareMembers(expected, evidence);
  expect(members.map(({ path, status }) => `${path} ${status}`)).toEqual(rows);
});

it('finds every member of a document equal to itself', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
      const members = compareMembers(document, structuredClone(document));
      expect(members.every(({ status }) => status === 'equal')).toBe(true);
    }),
  );
});

it('counts without an opinion', () => {
  const members = compareMembers({ a: 1, b: 2, c: 3 }, { a: 1, b: 3, d: 4 });
  expect(countMembers(members)).toBe('1 equal, 1 differs, 1 missing, 1 additional');
});
