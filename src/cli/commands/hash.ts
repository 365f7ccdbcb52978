// `svc hash`: the proof hash of evidence.
import { hashFile } from '../input/files.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';

export const hashCommand: CommandSpec = {
  path: 'hash',
  summary: 'Print the proof hash of evidence: SHA-256 of its canonical JSON (RFC 8785)',
  arguments: [{ syntax: '<file...>', summary: 'JSON files; - for standard input' }],
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
