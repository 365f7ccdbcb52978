import { hashProof } from '../proof/hash.ts';
import type { Output } from './output.ts';
import { type Progress, startProgress } from './progress.ts';
import { parseProof, readText } from './read-input.ts';

/** The proof hash of evidence in a file, or from standard input for `-`; large evidence with progress. */
export async function hashFile(output: Output, file: string): Promise<string> {
  const text = await readText(file);
  const { length } = text;
  const share = (progress: Progress) => (done: number) => progress.at(done / length);
  const proof = told(output, 'Reading the evidence', (progress) =>
    parseProof(file, text, { onRead: share(progress) }),
  );
  return told(output, 'Hashing the evidence', (progress) => hashProof(proof, share(progress)));
}

function told<Result>(output: Output, what: string, work: (progress: Progress) => Result): Result {
  const progress = startProgress(output, what);
  try {
    return work(progress);
  } finally {
    progress.end();
  }
}
