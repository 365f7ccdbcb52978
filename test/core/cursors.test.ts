import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openCursors, pageOf } from '../../src/server/core/paging.ts';

const key = randomBytes(32);
const open = (list: 'events' | 'ledger', wallet: string, of = key) =>
  openCursors({ cursorKey: async () => of }, list, wallet);
const refused = expect.objectContaining({ code: 'invalid_request' });

describe('a cursor of a list that shares its sequence', () => {
  it('restores its place', async () => {
    const cursors = await open('events', '0xA');
    fc.assert(
      fc.property(fc.maxSafeNat(), (seq) => {
        const cursor = cursors.cursorOf(seq);

        expect(cursor).toMatch(/^[\w-]{48}$/);
        expect(cursors.seqOf(cursor)).toBe(seq);
      }),
    );
    expect(cursors.seqOf(undefined)).toBeNull();
  });

  it('reveals nothing about the place, not even whether two are the same', async () => {
    const cursors = await open('events', '0xA');

    const made = Array.from({ length: 100 }, () => cursors.cursorOf(7));

    expect(new Set(made).size).toBe(100);
  });

  it('is valid only for its own list of its own account', async () => {
    const cursor = (await open('events', '0xA')).cursorOf(7);
    const others = await Promise.all([
      open('ledger', '0xA'),
      open('events', '0xB'),
      open('events', '0xA', randomBytes(32)),
    ]);

    for (const cursors of others) expect(() => cursors.seqOf(cursor)).toThrow(refused);
  });

  it('is refused with any bit changed', async () => {
    const cursors = await open('events', '0xA');
    const sealed = Buffer.from(cursors.cursorOf(7), 'base64url');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);

      expect(() => cursors.seqOf(changed.toString('base64url'))).toThrow(refused);
    }
  });
});

describe('a page', () => {
  it.each([
    [3, null],
    [4, 3],
  ])('of 3 among %i has the next cursor %s', async (count, cursor) => {
    const all = Array.from({ length: count }, (_, i) => i + 1);
    const find = async (most: number) => all.slice(0, most);
    const page = await pageOf('3', find, { cursorOf: String, view: (one) => one });

    expect(page).toEqual({ items: [1, 2, 3], next_cursor: cursor && String(cursor) });
  });
});
