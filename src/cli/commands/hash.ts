// `svc hash`: the proof hash of evidence.
import { readEvidence } from '../input/files.ts';
import type { CommandSpec } from '../program/command.ts';
import { repeated } from '../program/options.ts';

export const hashCommand: CommandSpec = {
  path: 'hash',
  summary: 'Print the proof hash of evidence: SHA-256 of its canonical JSON (RFC 8785)',
  arguments: [{ syntax: '<file...>', summary: 'JSON files; - for standard input' }],
  options: [
    {
      flags: '--attach <file>',
      summary:
        'list this file in the member "files" of the evidence before hashing; can be repeated',
      parse: repeated,
    },
  ],
  examples: [
    'svc hash evidence.json',
    'jq .proof task.json | svc hash -',
    'svc hash evidence.json --attach run.mcap --attach photo.jpg',
  ],
  async run({ output }, { file: files, attach }: { file: string[]; attach?: string[] }) {
    const hashes: { file: string; proof_hash: string }[] = [];
    for (const file of files) {
      const { hash } = await readEvidence(output, file, { attach });
      if (output.asksJson) hashes.push({ file, proof_hash: hash });
      else output.text(files.length === 1 ? hash : `${hash}  ${file}`);
    }
    if (output.asksJson) output.json({ hashes });
  },
};
