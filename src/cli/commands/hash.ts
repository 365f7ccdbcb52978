import { hashProof } from '../../proof/hash.ts';
import { readProof } from '../read-input.ts';

/** `svc hash FILE`: the hash that the service would anchor, one line each file. */
export async function hash(files: string[]): Promise<void> {
  for (const file of files) {
    const proofHash = hashProof(await readProof(file));
    process.stdout.write(files.length === 1 ? `${proofHash}\n` : `${proofHash}  ${file}\n`);
  }
}
