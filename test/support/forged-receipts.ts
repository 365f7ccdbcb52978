import type { Hex } from '../../src/proof/bytes.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import type { PublicVerification, Verification } from '../../src/protocol/resources.ts';
import { anvilAccounts, startTestChain, type TestChain } from './anvil.ts';

/** The account of the service, and another. */
export const [service, stranger] = [anvilAccounts[0].address, anvilAccounts[1].address] as const;
const uuid = (n: number) => `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const evidence = [0, 1, 2].map((picked) => ({ picked }));
const contents = evidence.map((proof, i) => ({
  proof_hash: hashProof(proof),
  task_id: uuid(i),
  robot_id: uuid(10 + i),
  claim_hash: hashClaim({ created_at: '2026-11-21T00:00:00.000Z', title: `Task ${i}` }),
}));
const batch = commitLeaves(contents.map((c) => ({ proof_hash: c.proof_hash, leaf: leafHash(c) })));
const inclusions = batch.inclusions.map((one) => one && { ...one, path: [...one.path] });
const [content, otherContent] = contents as [(typeof contents)[0], (typeof contents)[0]];
const singleOf = ({ proof_hash, leaf }: { proof_hash: Hex; leaf: Hex }) =>
  encodePayload({ kind: 'single', proof_hash, leaf });
export const payloads = contents.map((c) =>
  singleOf({ proof_hash: c.proof_hash, leaf: leafHash(c) }),
);

/** Where a transaction is, as a receipt states it. */
type Place = Pick<Verification, 'tx_hash' | 'block_number' | 'anchored_at'>;

/** Two chains, and honest receipts of the first. */
export interface Forger {
  readonly chain: TestChain;
  readonly otherChain: TestChain;
  readonly single: Verification;
  readonly inBatch: Verification;
  close(): Promise<unknown>;
}

export async function startForger(): Promise<Forger> {
  const [chain, otherChain] = await Promise.all([
    startTestChain(),
    startTestChain({ chainId: 31338 }),
  ]);
  const single = receipt(content, await send(chain, payloads[0] as Hex), null);
  const place = await send(chain, encodePayload(batch.payload));
  const inBatch = receipt(content, place, inclusions[0] ?? null);
  const close = () => Promise.all([chain.close(), otherChain.close()]);
  return { chain, otherChain, single, inBatch, close };
}

export async function send(to: TestChain, data: Hex, from: string = service): Promise<Place> {
  const tx_hash = await to.rpc<string>('eth_sendTransaction', [
    { from, to: from, data, gas: '0x186a0' },
  ]);
  await to.mine();
  const block = await to.rpc<{ number: string; timestamp: string }>('eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  return {
    tx_hash,
    block_number: String(Number(block.number)),
    anchored_at: new Date(Number(block.timestamp) * 1000).toISOString(),
  };
}

function receipt(
  about: (typeof contents)[0],
  place: Place,
  inclusion: Verification['inclusion'],
): Verification {
  return {
    format: 'svc-receipt/1',
    ...about,
    ...place,
    status: 'verified',
    explorer_url: 'http://explorer.example',
    chain_id: 31337,
    inclusion,
    finality: 'included',
  };
}

/** The answer of a service that says of everything that it is verified. */
export function lie(about: Verification): PublicVerification {
  const { task_id: id, robot_id, claim_hash, proof_hash, chain_id, inclusion } = about;
  const { tx_hash, block_number, anchored_at, explorer_url } = about;
  return {
    verified: true,
    proof_hash,
    task: { id, title: 'Task', robot: 'arm', status: 'verified', robot_id, claim_hash },
    anchor: {
      tx_hash,
      block_number,
      anchored_at,
      explorer_url,
      on_chain_payload_found: true,
      chain_id,
      from: service.toLowerCase(),
      inclusion,
      confirmations: '99',
      finality: 'finalized',
    },
    occurrences: 1,
    checked_at: new Date().toISOString(),
  };
}

interface Forgery {
  forged: Verification;
  /** Given with the receipt. */
  evidence?: object | undefined;
  /** The chain that is read; the first one unless given. */
  rpcUrl?: string;
}

const swappedRoot = `0x${'ab'.repeat(32)}`;
const inclusionWith = ({ inBatch }: Forger, change: object): Verification => ({
  ...inBatch,
  inclusion: { ...(inBatch.inclusion as NonNullable<Verification['inclusion']>), ...change },
});

/** Forged receipts, each with the checks that must fail, and no others. */
export const forgeries: [name: string, make: (of: Forger) => Promise<Forgery>, failed: string[]][] =
  [
    [
      'other evidence',
      async ({ single }) => ({ forged: single, evidence: evidence[1] }),
      ['evidence'],
    ],
    [
      'the hash of other evidence',
      async ({ single }) => ({ forged: { ...single, proof_hash: otherContent.proof_hash } }),
      ['proof_hash', 'leaf'],
    ],
    ['another task', async ({ single }) => ({ forged: { ...single, task_id: uuid(1) } }), ['leaf']],
    [
      'another robot',
      async ({ single }) => ({ forged: { ...single, robot_id: uuid(11) } }),
      ['leaf'],
    ],
    [
      'another task in a batch',
      async ({ inBatch }) => ({ forged: { ...inBatch, task_id: uuid(1) } }),
      ['inclusion_path'],
    ],
    [
      'another transaction',
      async ({ chain, single }) => ({
        forged: { ...single, ...(await send(chain, payloads[1] as Hex)) },
      }),
      ['proof_hash', 'leaf'],
    ],
    [
      'a reverted transaction',
      async ({ chain, single }) => {
        await chain.rpc('anvil_setCode', [service, '0x60006000fd']);
        const place = await send(chain, payloads[0] as Hex);
        await chain.rpc('anvil_setCode', [service, '0x']);
        return { forged: { ...single, ...place } };
      },
      ['status'],
    ],
    [
      'the right payload by another sender',
      async ({ chain, single }) => ({
        forged: { ...single, ...(await send(chain, payloads[0] as Hex, stranger)) },
      }),
      ['sender'],
    ],
    [
      'the right transaction on another chain',
      async ({ otherChain, single }) => ({
        forged: { ...single, ...(await send(otherChain, payloads[0] as Hex)) },
        rpcUrl: otherChain.url,
      }),
      ['chain'],
    ],
    [
      'the path of another leaf',
      async ({ inBatch }) => ({
        forged: { ...inBatch, inclusion: inclusions[1] ?? null },
      }),
      ['inclusion_path'],
    ],
    [
      'a truncated path',
      async (of) => ({
        forged: inclusionWith(of, { path: of.inBatch.inclusion?.path.slice(0, -1) }),
      }),
      ['inclusion_path'],
    ],
    [
      'another leaf count',
      async (of) => ({ forged: inclusionWith(of, { leaf_count: 4 }) }),
      ['leaf_count'],
    ],
    [
      'another root',
      async (of) => ({ forged: inclusionWith(of, { root: swappedRoot }) }),
      ['root'],
    ],
    [
      'another block time',
      async ({ single }) => ({ forged: { ...single, anchored_at: '2020-01-01T00:00:00.000Z' } }),
      ['anchored_at'],
    ],
  ];
