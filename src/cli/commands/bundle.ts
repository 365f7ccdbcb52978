// `svc bundle`: writes the file that proves a task without the service.
import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { SvcError } from '../../base/svc-error.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { type Bundle, readBundle } from '../../proof/bundle.ts';
import { BundleError } from '../../proof/bundle-error.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { formatJson } from '../output/escape.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { taskId } from './tasks.ts';

export const bundleCommand: CommandSpec = {
  path: 'bundle',
  summary: 'Write what proves a task, in one file that needs nothing but a node of the chain',
  details: `All that needs no chain is checked before anything is written: evidence, claim, inclusion path, signed
transaction. Says on stderr if the anchor is not final yet (not with --json).`,
  arguments: [{ syntax: '<task>', summary: 'id of the task' }],
  options: [
    { flags: '--output <file>', summary: 'write it there instead of to stdout' },
    { flags: '--no-evidence', summary: 'leave the evidence out; its hash remains' },
  ],
  examples: [
    'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b > bundle.json',
    'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b --no-evidence --output bundle.json',
  ],
  run: bundle,
};

interface BundleInput {
  task: string;
  output?: string;
  /** False with `--no-evidence`. */
  evidence: boolean;
}

/** Writes nothing if the bundle contradicts itself. */
async function bundle({ session, output, wait }: Context, input: BundleInput): Promise<void> {
  const { client } = await session();
  const params = { id: taskId(input.task) };
  const [{ body }, { body: task }] = await wait('Reading the bundle', () =>
    Promise.all([client.call('getBundle', { params }), client.call('getTask', { params })]),
  );
  const whole = soundBundle(body, params.id);
  const { proof: _, ...bare } = whole;
  const written = input.evidence ? whole : bare;
  const finality = task.verification?.finality ?? null;
  if (finality !== 'finalized' && !output.asksJson) {
    output.warn(
      `The anchor is not final yet (${finality}): a reorganisation of the chain would move it, and this bundle would no longer verify. Take it again after svc tasks watch ${params.id} --until finalized`,
    );
  }
  if (input.evidence && whole.proof === undefined) {
    output.note('The evidence was erased; the bundle has its hash alone.');
  }
  if (input.output === undefined) {
    output.json(written);
    return;
  }
  await save(input.output, `${formatJson(written, true)}\n`);
  if (output.asksJson) output.json({ file: input.output, tx_hash: whole.anchor.tx_hash, finality });
  else output.note(`Written to ${input.output}`);
}

/** Checks everything that needs no chain. Throws `unexpected_answer`, `unsound_bundle`. */
function soundBundle(body: unknown, id: string): Bundle {
  let read: Bundle;
  try {
    read = readBundle(body as JsonValue);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new SvcError('unexpected_answer', `The service's bundle is none: ${error.message}.`);
  }
  const failed = auditBundleAlone(read).filter(({ ok }) => !ok);
  if (read.task.id !== id) {
    throw new SvcError('unexpected_answer', 'The service answered the bundle of another task.');
  }
  if (failed.length > 0) {
    const details = failed.map(({ name, detail }) => `${name}: ${detail}`);
    throw new SvcError('unsound_bundle', `The bundle does not hold: ${details.join('; ')}.`, {
      hint: 'Nothing was written. Tell the operator of the service.',
    });
  }
  return read;
}

async function save(file: string, text: string): Promise<void> {
  try {
    await writeWhole(file, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SvcError('file_not_written', `${file} cannot be written (${code}).`);
  }
}

/** Writes the whole text durably, or leaves the file as it was. */
async function writeWhole(file: string, text: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  // Write to a pipe or a device; never replace it.
  if (found !== null && !found.isFile()) return writeFile(file, text);
  const target = found === null ? file : await realpath(file);
  const part = `${target}.${randomUUID()}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', flush: true, ...(found && { mode: found.mode }) });
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
