// `svc hash`: the proof hash of evidence.
import type { Proof } from '../../proof/json-value.ts';
import { readEvidence } from '../input/files.ts';
import type { CommandSpec } from '../program/command.ts';
import { bigIntegersOption, repeated } from '../program/options.ts';

interface HashInput {
  file: string[];
  attach?: string[];
  bigIntegers?: 'string';
}

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
    bigIntegersOption,
  ],
  examples: [
    'svc hash evidence.json',
    'jq .proof task.json | svc hash -',
    'svc hash evidence.json --attach run.mcap --attach photo.jpg',
  ],
  async run({ output }, { file: files, attach, bigIntegers: numbers }: HashInput) {
    const hashes: { file: string; proof_hash: string; document?: Proof }[] = [];
    for (const file of files) {
      const { hash, proof } = await readEvidence(output, file, { attach, numbers });
      if (output.asksJson) {
        hashes.push({ file, proof_hash: hash, ...(numbers && { document: proof }) });
      } else output.text(files.length === 1 ? hash : `${hash}  ${file}`);
    }
    if (output.asksJson) output.json({ hashes });
  },
};
