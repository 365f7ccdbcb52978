// `svc prove-part`: shows some bytes of a file that evidence lists, without the rest.
import { once } from 'node:events';
import { withFileProgress } from '../../base/progress.ts';
import { SvcError } from '../../base/svc-error.ts';
import { writePart } from '../../client/files.ts';
import type { CommandSpec } from '../program/command.ts';

export const provePartCommand: CommandSpec = {
  path: 'prove-part',
  summary:
    'Write some bytes of a file that evidence lists, with hashes that show that they are in this file',
  details: `Writes whole chunks of 1 MiB: those that have the first and the last byte, and all between them. The recipient
sees only these chunks of the file, and checks them with svc verify --part. A part has at most 128 chunks.`,
  arguments: [{ syntax: '<file>', summary: 'regular file' }],
  options: [
    {
      flags: '--bytes <range>',
      summary: 'first and last byte, counted from 0: 0-1048575 (required)',
    },
  ],
  examples: ['svc prove-part run.mcap --bytes 0-1048575 > part.json'],
  async run({ output }, { file, bytes = '' }: { file: string; bytes?: string }) {
    const [, first, last] = /^(\d{1,15})-(\d{1,15})$/.exec(bytes) ?? [];
    if (first === undefined || last === undefined) {
      throw new SvcError(
        'usage',
        '--bytes must be the first and the last byte, such as 0-1048575.',
      );
    }
    await withFileProgress(output.mayAnimate, async (onRead) => {
      for await (const piece of writePart(file, [Number(first), Number(last)], onRead)) {
        if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
      }
    });
  },
};
