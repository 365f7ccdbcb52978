import type { Context } from '../context.ts';
import { hashFile } from '../hash-file.ts';

/** `svc hash FILE`: the hash that the service would anchor, one line each file. */
export async function hash(
  { output }: Context,
  { file: files }: { file: string[] },
): Promise<void> {
  const hashes: { file: string; proof_hash: string }[] = [];
  for (const file of files) {
    const proofHash = await hashFile(output, file);
    if (output.asksJson) hashes.push({ file, proof_hash: proofHash });
    else output.text(files.length === 1 ? proofHash : `${proofHash}  ${file}`);
  }
  if (output.asksJson) output.json({ hashes });
}
