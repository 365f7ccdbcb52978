import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

const demo = path.resolve(import.meta.dirname, '../../examples/demo/main.js');

function start(...args: string[]) {
  const child = spawn(process.execPath, [demo, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, output: text(child.stdout), ended: once(child, 'close') };
}

describe('npm run demo', () => {
  it('goes the whole way in under 15 seconds and is clean when piped', async () => {
    const started = performance.now();
    const { child, output, ended } = start();
    const errors = text(child.stderr);

    await ended;

    expect(child.exitCode).toBe(0);
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(await errors).toBe('');
    const lines = await output;
    expect(lines).not.toContain('\u001b');
    expect(lines.match(/^✔ /gm)).toHaveLength(10);
    expect(lines).toMatch(/proof_hash +0x[0-9a-f]{64}/);
    expect(lines).toContain('NOT verified.');
    expect(lines).toMatch(/Every step held, in [\d.]+ s\./);
  });

  it('leaves the service running with --keep, and ends it on Ctrl-C', async () => {
    const { child, ended } = start('--keep');
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    await expect.poll(() => printed, { timeout: 15_000 }).toContain('To go on');
    const verify = /curl (http\S+\/api\/v1\/verify\/0x\w+)/.exec(printed)?.[1] ?? '';
    expect(await (await fetch(verify)).json()).toMatchObject({ verified: true });

    child.kill('SIGINT');
    await ended;

    expect(child.exitCode).toBe(130);
    await expect(fetch(verify)).rejects.toThrow();
  });
});
