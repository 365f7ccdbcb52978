import { hashProof } from '../../proof/hash.ts';
import type { Context } from '../context.ts';
import { readProof } from '../read-input.ts';

/** `svc hash FILE`: the hash that the service would anchor, one line each file. */
export async function hash(
  { output }: Context,
  { file: files }: { file: string[] },
): Promise<void> {
  const hashes: { file: string; proof_hash: string }[] = [];
  for (const file of files) {
    const proofHash = hashProof(await readProof(file));
    if (output.asksJson) hashes.push({ file, proof_hash: proofHash });
    else output.line(files.length === 1 ? proofHash : `${proofHash}  ${file}`);
  }
  if (output.asksJson) output.json({ hashes });
}
