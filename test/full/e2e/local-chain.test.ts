import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { callRpc } from '../../support/anvil.ts';
import { waitFor } from '../../support/wait-for.ts';

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function block(url: string, tag: string): Promise<{ hash: string; timestamp: string }> {
  return callRpc(url, 'eth_getBlockByNumber', [tag, false]);
}

describe('the local chain', () => {
  it('is the same chain, without delay, after each of several kills', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'svc-anvil-'));
    const stateFile = path.join(folder, 'state.json');
    const genesis = new Set<string>();

    for (let start = 0; start < 3; start++) {
      const anvil = await startAnvil({ stateFile, blockTime: 0.1 });
      const before = Number(await callRpc(anvil.url, 'eth_blockNumber'));
      await waitFor(
        'two blocks',
        async () => Number(await callRpc(anvil.url, 'eth_blockNumber')) > before + 1,
      );
      genesis.add((await block(anvil.url, '0x0')).hash);
      const age = Date.now() / 1000 - Number((await block(anvil.url, 'latest')).timestamp);
      expect(Math.abs(age)).toBeLessThan(5);
      process.kill(anvil.pid, 'SIGKILL');
      await anvil.ended;
    }

    await rm(folder, { recursive: true });
    expect(genesis.size).toBe(1);
  });

  it('listens on a free port and stops after close', async () => {
    const anvil = await startAnvil();

    expect(await callRpc(anvil.url, 'eth_chainId')).toBe('0x7a69');
    await anvil.close();

    expect(alive(anvil.pid)).toBe(false);
  });

  it('ends with the process that started it, even if that is killed', async () => {
    const parent = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startAnvil } from ${JSON.stringify(new URL('../../../dist/server/commands/dev-chain.js', import.meta.url).href)};
         const { pid } = await startAnvil(); console.log(pid); setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(alive(pid)).toBe(true);

    parent.kill('SIGKILL');

    await waitFor('the end of the chain', () => !alive(pid), 5_000);
  });
});
