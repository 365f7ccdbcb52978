import { type Anvil, type AnvilOptions, startAnvil } from '../../src/server/commands/dev-chain.ts';
import { recordFailures, writeRecord } from './failure-records.ts';

export interface TestChain extends Anvil {
  rpc<T = unknown>(method: string, params?: readonly unknown[]): Promise<T>;
  mine(): Promise<void>;
  /** Ends the test's use of it. Another test of this worker may get the same node, with a new chain. */
  close(): Promise<void>;
  /** Ends the node. */
  stop(): Promise<void>;
}

/** Nodes that no test uses, by their options: starting one takes longer than most of their tests. */
const idle = new Map<string, Anvil[]>();

/** Addresses of nodes with settings that `anvil_reset` keeps. */
const adjusted = new Set<string>();

/** The first three accounts of anvil's mnemonic, each with 10 000 ether. */
export const anvilAccounts = [
  {
    address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  },
  {
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  },
  {
    address: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    privateKey: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  },
] as const;

/** A real chain that mines only when told, unless a block time is given. */
export async function startTestChain(options: AnvilOptions = {}): Promise<TestChain> {
  const wanted: AnvilOptions = { blockTime: 'manual', ...options };
  const kind = JSON.stringify(wanted);
  const anvil = idle.get(kind)?.pop() ?? (await startAnvil(wanted));
  const rpc = <T>(method: string, params: readonly unknown[] = []) =>
    callRpc<T>(anvil.url, method, params);
  const written = recordFailures((folder) => writeChain(anvil.url, folder));
  let isOpen = true;
  const stop = async () => {
    isOpen = false;
    await written();
    await anvil.close();
  };
  return {
    ...anvil,
    async close() {
      if (!isOpen) return;
      // A block that is due would be mined on the new chain.
      if (typeof wanted.blockTime === 'number' || adjusted.has(anvil.url)) return stop();
      isOpen = false;
      await written();
      await rpc('anvil_reset');
      // The new chain's clock starts at the time of the first one.
      await rpc('evm_setTime', [Date.now()]);
      idle.set(kind, [...(idle.get(kind) ?? []), anvil]);
    },
    stop,
    rpc,
    async mine() {
      await rpc('evm_mine');
    },
  };
}

/** The last hundred blocks with their transactions, and what waits in the pool. */
async function writeChain(url: string, folder: string): Promise<void> {
  const head = Number(await callRpc<string>(url, 'eth_blockNumber'));
  const numbers = Array.from({ length: Math.min(head + 1, 100) }, (_, below) => head - below);
  const blocks = await Promise.all(
    numbers.map((number) =>
      callRpc(url, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, true]),
    ),
  );
  const pool = await callRpc(url, 'txpool_content');
  await writeRecord(folder, 'chain.json', JSON.stringify({ blocks, pool }, null, 2));
}

export async function callRpc<T>(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<T> {
  if (/^evm_set(?!Time)|^anvil_setNext/.test(method)) adjusted.add(url);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T;
}
