// `svc prove-part`: extracts a range of bytes from a file that evidence lists, with a proof.
import { once } from 'node:events';
import { withFileProgress } from '../../base/progress.ts';
import { SvcError } from '../../base/svc-error.ts';
import { writePart } from '../../client/files.ts';
import type { CommandSpec } from '../program/command.ts';

export const provePartCommand: CommandSpec = {
  path: 'prove-part',
  summary:
    'Extract a range of bytes from a file that evidence lists, and prove that the file contains them',
  details:
    'svc writes a part: whole chunks of 1 MiB, from the chunk with the first byte to the chunk with the last byte. A part has at most 128 chunks. The recipient sees only these chunks of the file, and can check the part with svc verify --part.',
  arguments: [{ syntax: '<file>', summary: 'regular file that the evidence lists' }],
  options: [
    {
      flags: '--bytes <range>',
      summary: 'first and last byte of the range, counted from 0, for example 0-1048575 (required)',
    },
  ],
  examples: ['svc prove-part run.mcap --bytes 0-1048575 > part.json'],
  async run({ output }, { file, bytes = '' }: { file: string; bytes?: string }) {
    const [, first, last] = /^(\d{1,15})-(\d{1,15})$/.exec(bytes) ?? [];
    if (first === undefined || last === undefined) {
      const message = '--bytes must be the first and the last byte, such as 0-1048575.';
      throw new SvcError('usage', message);
    }
    await withFileProgress(output.mayAnimate, async (onRead) => {
      for await (const piece of writePart(file, [Number(first), Number(last)], onRead)) {
        if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
      }
    });
  },
};
