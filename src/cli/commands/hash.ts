// `svc hash`: the proof hash of evidence.
import { hashProof } from '../../proof/hash.ts';
import { parseProof, readText } from '../input/files.ts';
import type { Output } from '../output/output.ts';
import { type Progress, startProgress } from '../output/progress.ts';
import type { LoneCommand } from '../program/command.ts';
import type { Context } from '../program/context.ts';

export const hashCommand: LoneCommand = {
  path: 'hash',
  arguments: [{ syntax: '<file...>', summary: 'JSON files, or - for standard input' }],
  examples: ['svc hash evidence.json', 'jq .proof task.json | svc hash -'],
  run: hash,
};

async function hash({ output }: Context, { file: files }: { file: string[] }): Promise<void> {
  const hashes: { file: string; proof_hash: string }[] = [];
  for (const file of files) {
    const proofHash = await hashFile(output, file);
    if (output.asksJson) hashes.push({ file, proof_hash: proofHash });
    else output.text(files.length === 1 ? proofHash : `${proofHash}  ${file}`);
  }
  if (output.asksJson) output.json({ hashes });
}

/** The proof hash of evidence in a file, or in standard input for `-`. Large evidence shows progress. */
export async function hashFile(output: Output, file: string): Promise<string> {
  const text = await readText(file);
  const { length } = text;
  const share = (progress: Progress) => (done: number) => progress.at(done / length);
  const proof = withProgress(output, 'Reading the evidence', (progress) =>
    parseProof(file, text, { onRead: share(progress) }),
  );
  return withProgress(output, 'Hashing the evidence', (progress) =>
    hashProof(proof, share(progress)),
  );
}

function withProgress<Result>(
  output: Output,
  what: string,
  work: (progress: Progress) => Result,
): Result {
  const progress = startProgress(output, what);
  try {
    return work(progress);
  } finally {
    progress.end();
  }
}
