import { expect, test, vi } from 'vitest';

const bytes = Uint8Array.from({ length: 16 }, (_, i) => 0xf7 - 13 * i);

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomFillSync: (random: Uint8Array) => random.map((_, i) => (random[i] = bytes[i % 16] ?? 0)),
}));

test('lays the bits out as the package uuid does', async () => {
  const { v7 } = await vi.importActual<typeof import('uuid')>('uuid');
  const { newId } = await import('../../src/base/new-id.ts');
  const clock = vi.spyOn(Date, 'now');
  for (const msecs of [1, 2 ** 32 - 1, 2 ** 32, 0x0199_abcd_ef01, 2 ** 48 - 2]) {
    clock.mockReturnValue(msecs);
    const seq = new DataView(bytes.buffer).getUint32(0) & 0x7f_ff_ff_ff;
    expect(newId()).toBe(v7({ msecs, seq, random: bytes }));
    expect(newId()).toBe(v7({ msecs, seq: seq + 1, random: bytes }));
  }
  clock.mockRestore();
});
