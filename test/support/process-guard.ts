// Refuses every process that a test of `npm test` starts, except anvil without a block time. Only the journeys in
// test/smoke may start programs: tests that wait for other processes are slow and fail by chance.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect } from 'vitest';

const SYNCHRONOUS = ['spawnSync', 'execSync', 'execFileSync'] as const;

const originals = globalThis as { svcSpawn?: { async: StartProcess; sync: StartProcess[] } };
type StartProcess = (this: unknown, ...args: unknown[]) => unknown;

// biome-ignore lint/suspicious/noExplicitAny: replaces what @types/node does not declare, or declares as constant
const writable = childProcess as any;
// One worker runs many files; the module is evaluated for each.
originals.svcSpawn ??= {
  async: writable.ChildProcess.prototype.spawn,
  sync: SYNCHRONOUS.map((name) => writable[name]),
};
const { async, sync } = originals.svcSpawn;
const isSmoke = expect.getState().testPath?.includes(`${path.sep}smoke${path.sep}`) ?? false;

writable.ChildProcess.prototype.spawn = isSmoke ? async : guarded;
for (const [i, name] of SYNCHRONOUS.entries()) writable[name] = isSmoke ? sync[i] : refuse;
syncBuiltinESMExports();

function guarded(this: unknown, options: { args: string[] }) {
  const startsAnvil = options.args.some((arg) => arg.endsWith('/bin/anvil'));
  if (!startsAnvil || options.args.includes('--block-time')) refuse(options.args.join(' '));
  return async.call(this, options);
}

function refuse(command: unknown): never {
  throw new Error(
    `npm test starts no process: call the program with runInProcess, or move this test to test/full/<area> (docs/testing.md). It started: ${String(command)}`,
  );
}
