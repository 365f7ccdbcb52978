import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startAnvil } from '../../src/server/anvil.ts';

async function rpc(url: string, method: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
  });
  return ((await response.json()) as { result: unknown }).result;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the local chain', () => {
  it('answers on a free port and is gone after close', async () => {
    const anvil = await startAnvil();

    expect(await rpc(anvil.url, 'eth_chainId')).toBe('0x7a69');
    await anvil.close();

    expect(alive(anvil.pid)).toBe(false);
  });

  it('ends with the process that started it, even when that is killed', async () => {
    const parent = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startAnvil } from ${JSON.stringify(new URL('../../dist/server/anvil.js', import.meta.url).href)};
         const { pid } = await startAnvil(); console.log(pid); setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(alive(pid)).toBe(true);

    parent.kill('SIGKILL');

    await expect.poll(() => alive(pid), { timeout: 5_000 }).toBe(false);
  });
});
