import { setTimeout as sleep } from 'node:timers/promises';
import type { MinedChain } from './mined-chain.ts';
import type { Random } from './random.ts';

const GWEI = 10n ** 9n;

export interface ChainFaultOptions {
  /** Blocks up to here are never replaced. */
  readonly foundation: number;
  /** Most blocks that are replaced at once; 0: none. */
  readonly deepest: number;
  readonly senders: readonly string[];
  readonly met: (fault: string) => void;
  readonly signal: AbortSignal;
}

type Fault = (chain: MinedChain, random: Random, options: ChainFaultOptions) => Promise<void>;

const faults: Record<string, { weight: number; happen: Fault }> = {
  drops_a_transaction: { weight: 4, happen: dropTransaction },
  replaces_blocks: { weight: 3, happen: replaceBlocks },
  makes_no_blocks: {
    weight: 2,
    happen: (chain, random, { signal }) =>
      chain.whileHalted(() => pause(random.between(300, 2_000), signal)),
  },
  raises_its_base_fee: {
    weight: 2,
    happen: async (chain, random) => {
      const fee = BigInt(random.between(2, 30)) * GWEI;
      await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${fee.toString(16)}`]);
    },
  },
};

/** One fault of the chain after another until the signal aborts. */
export async function disturbChain(
  chain: MinedChain,
  random: Random,
  options: ChainFaultOptions,
): Promise<void> {
  const weights = Object.fromEntries(
    Object.entries(faults)
      .filter(([name]) => options.deepest > 0 || name !== 'replaces_blocks')
      .map(([name, { weight }]) => [name, weight]),
  );
  while (!options.signal.aborted) {
    await pause(random.between(100, 900), options.signal);
    if (options.signal.aborted) break;
    const name = random.weighted(weights);
    await faults[name]?.happen(chain, random, options);
    options.met(name);
  }
}

async function dropTransaction(
  chain: MinedChain,
  random: Random,
  { senders }: ChainFaultOptions,
): Promise<void> {
  const ours = senders.map((sender) => sender.toLowerCase());
  const pool = await chain.rpc<Pool>('txpool_content');
  const hashes = [pool.pending, pool.queued].flatMap((part) =>
    Object.entries(part)
      .filter(([address]) => ours.includes(address.toLowerCase()))
      .flatMap(([, byNonce]) => Object.values(byNonce).map(({ hash }) => hash)),
  );
  if (hashes.length > 0) await chain.rpc('anvil_dropTransaction', [random.pick(hashes)]);
}

type Pool = Record<'pending' | 'queued', Record<string, Record<string, { hash: string }>>>;

async function replaceBlocks(
  chain: MinedChain,
  random: Random,
  { foundation, deepest }: ChainFaultOptions,
): Promise<void> {
  await chain.whileHalted(async () => {
    const head = Number(await chain.rpc<string>('eth_blockNumber'));
    const depth = Math.min(random.between(1, deepest), head - foundation);
    if (depth > 0) await chain.rpc('anvil_reorg', [depth, []]);
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => {});
}
