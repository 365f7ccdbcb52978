// Adds the chain proof to a bundle that was written without one (`svc bundle --upgrade`).
import { SvcError } from '../../base/svc-error.ts';
import { readChainProof } from '../../chain/chain-proof.ts';
import { readingAt } from '../../chain/rpc.ts';
import { type Bundle, PROVEN_BUNDLE_FORMAT } from '../../proof/bundle.ts';
import { auditChainProof, type ChainProof } from '../../proof/chain-proof.ts';
import type { Context } from '../context.ts';
import { nameOf } from '../input/files.ts';
import { bundleOfService, readBundleFile, requireSound } from './subject.ts';

/**
 * The bundle in a file with its chain proof, read from the service of its task, or from the chain with `rpcUrl`. Throws
 * `usage`, `no_chain_proof`, and `unsound_bundle` if the proof does not fit.
 */
export async function upgradedBundle(
  context: Context,
  file: string,
  rpcUrl: string | null,
): Promise<Bundle> {
  const bundle = await readOldBundle(file);
  const chainProof = await context.wait('Reading the chain proof', () =>
    rpcUrl === null ? proofOfService(context, bundle) : proofOfChain(rpcUrl, bundle),
  );
  if (chainProof === null) {
    throw new SvcError('no_chain_proof', 'There is no chain proof for this bundle yet.', {
      hint: 'The service makes one when the anchor is final. To read the chain, use --rpc-url.',
    });
  }
  const format = bundle.signing === undefined ? PROVEN_BUNDLE_FORMAT : bundle.format;
  const upgraded: Bundle = { ...bundle, format, chain_proof: chainProof };
  requireSound(auditChainProof(upgraded, bundle.anchor.block_hash));
  return upgraded;
}

async function readOldBundle(file: string): Promise<Bundle> {
  const bundle = await readBundleFile(file);
  if (bundle.chain_proof === undefined) return bundle;
  throw new SvcError('usage', `${nameOf(file)} has a chain proof already.`);
}

async function proofOfService(context: Context, { task }: Bundle): Promise<ChainProof | null> {
  const { body } = await context.call('getBundle', { params: { id: task.id } });
  return bundleOfService(body).chain_proof ?? null;
}

function proofOfChain(url: string, { anchor }: Bundle): Promise<ChainProof | null> {
  const place = {
    blockNumber: BigInt(anchor.block_number),
    blockHash: anchor.block_hash,
    txIndex: anchor.tx_index,
    txHash: anchor.tx_hash,
  };
  return readingAt(url, (ask) => readChainProof(ask, place));
}
