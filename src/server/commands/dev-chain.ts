// The local chain of `svc-server dev`.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { SvcError } from '../../base/svc-error.ts';
import { packageFolder } from '../../base/version.ts';

export interface AnvilOptions {
  /** 0 (the default) chooses a free port. */
  port?: number;
  /**
   * Seconds between blocks (default 1). `manual` mines on `evm_mine`, `transaction` mines each transaction as it
   * arrives.
   */
  blockTime?: number | 'manual' | 'transaction';
  chainId?: number;
  /** Loaded at start if it exists; written every second and on exit. */
  stateFile?: string;
}

/**
 * Ends anvil when this process ends, even by SIGKILL: the guard's standard input closes when the process that holds the
 * other end of the pipe ends.
 */
const guard = `exec 3<&0 2>&1; "$@" </dev/null & child=$!; echo "anvil pid $child"
(cat <&3; kill "$child") >/dev/null 2>&1 & wait "$child"`;

type Guarded = ChildProcessByStdio<Writable, Readable, null>;

export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/** Starts a local development chain. Rejects with `anvil_failed` if it cannot. */
export async function startAnvil(options: AnvilOptions = {}) {
  // A session of its own: Ctrl-C reaches only the server, which ends the chain last.
  const child: Guarded = spawn('/bin/sh', ['-c', guard, 'sh', anvilBinary(), ...flags(options)], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  child.stdin.on('error', () => {});
  const ended = once(child, 'exit').then(() => {
    child.stdin.destroy();
  });
  const { pid, url } = await untilListening(child);
  if (options.stateFile !== undefined) await setTime(url, Date.now());
  child.stdout.resume();
  return {
    url,
    /** Process id of anvil itself, not of its guard. */
    pid,
    /** Resolves when the node has ended, for any reason. */
    ended,
    async close(): Promise<void> {
      child.stdin.end();
      const force = setTimeout(() => stop(pid, 'SIGKILL'), 5_000);
      await ended;
      clearTimeout(force);
    },
  };
}

function flags({ port = 0, blockTime = 1, chainId = 31337, stateFile }: AnvilOptions): string[] {
  return [
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--chain-id',
    String(chainId),
    ...miningFlags(blockTime),
    '--slots-in-an-epoch',
    '1',
    // Without a limit anvil keeps every block's state on disk and slows down.
    '--prune-history',
    '100',
    ...(stateFile === undefined ? [] : persistence(stateFile)),
  ];
}

function miningFlags(blockTime: NonNullable<AnvilOptions['blockTime']>): string[] {
  if (blockTime === 'transaction') return [];
  return blockTime === 'manual' ? ['--no-mining'] : ['--block-time', String(blockTime)];
}

/**
 * Anvil creates a new genesis, and thus another chain, at each start. A fixed genesis time keeps its hash. It also sets
 * back anvil's clock, which `setTime` corrects.
 */
function persistence(stateFile: string): string[] {
  const genesisFile = `${stateFile}.genesis`;
  try {
    writeFileSync(genesisFile, String(Math.floor(Date.now() / 1000)), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const genesisTime = readFileSync(genesisFile, 'utf8').trim();
  return ['--state', stateFile, '--state-interval', '1', '--timestamp', genesisTime];
}

async function setTime(url: string, ms: number): Promise<void> {
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'evm_setTime', params: [ms] }),
  });
}

/**
 * The program anvil: of the npm package that was installed with this one, then on PATH, then of the working folder's.
 * Replaces the package's JavaScript wrapper, which is slower and leaves processes behind, with the program itself.
 */
function anvilBinary(): string {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const onPath = folders.map((folder) => path.join(folder, 'anvil')).find(existsSync);
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const elsewhere = onPath === undefined ? path.resolve('package.json') : realpathSync(onPath);
  for (const place of [import.meta.url, elsewhere]) {
    try {
      const wrapper = createRequire(place).resolve('@foundry-rs/anvil/package.json');
      const name = `@foundry-rs/anvil-${process.platform}-${arch}/bin/anvil`;
      return createRequire(wrapper).resolve(name);
    } catch {
      // The package is not there.
    }
  }
  if (onPath !== undefined) return onPath;
  const message =
    'The local chain needs anvil, which was not found next to this package, in the working folder or on PATH.';
  throw new SvcError('anvil_failed', message, {
    hint: `Run: npm install ${globally()}@foundry-rs/anvil@1.7.1`,
  });
}

/** The options of npm that install next to this package, if it was installed globally. Else the working folder will do. */
function globally(): string {
  const [, prefix] = /^(.+)\/lib\/node_modules\/[^/]+\/$/.exec(packageFolder) ?? [];
  if (prefix === undefined || existsSync(`${prefix}/lib/package.json`)) return '';
  return prefix === path.resolve(process.execPath, '../..') ? '-g ' : `-g --prefix ${prefix} `;
}

const START_MS = 20_000;

/** Rejects with `anvil_failed` if the chain ends, or does not listen in time. */
async function untilListening({ stdin, stdout }: Guarded): Promise<{ pid: number; url: string }> {
  let output = '';
  // The guard then ends the chain, and with it the output.
  const timer = setTimeout(() => stdin.destroy(), START_MS);
  try {
    for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
      output += chunk;
      const pid = /anvil pid (\d+)/.exec(output);
      const listening = /Listening on (127\.0\.0\.1:\d+)/.exec(output);
      if (pid && listening) return { pid: Number(pid[1]), url: `http://${listening[1]}` };
    }
  } finally {
    clearTimeout(timer);
  }
  stdin.destroy();
  const last = output.trim().split('\n').slice(-3).join(' ');
  throw new SvcError('anvil_failed', `The local chain did not start. Its last output: ${last}`);
}

function stop(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
