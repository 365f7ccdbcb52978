// `svc bundle`: writes the file that proves a task without the service.

import { formatJson } from '../../base/escape.ts';
import { SvcError } from '../../base/svc-error.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import type { Bundle } from '../../proof/bundle.ts';
import { auditSigning } from '../../proof/statements/audit-signing.ts';
import type { Context } from '../context.ts';
import { findTask, taskArgument } from '../input/find.ts';
import { saveFile } from '../output/save-file.ts';
import type { CommandSpec } from '../program/command.ts';
import { requirePrivateNodes } from '../program/profiles.ts';
import { bundleOfService, requireSound } from '../verify/subject.ts';

export const bundleCommand: CommandSpec = {
  path: 'bundle',
  summary:
    'Write receipt, claim and evidence of a task as a bundle: one file that you can verify without the service',
  details: `svc checks evidence, claim, inclusion path and signed transaction before it writes the bundle. If the anchor is not final yet, svc prints a warning on standard error, except with --json.

With --upgrade, svc reads an existing bundle and writes a copy with the chain proof. svc reads the chain proof from the service, or with --rpc-url from a node. svc changes the existing file only if you name it with --output.`,
  arguments: [{ ...taskArgument, syntax: '[task]' }],
  options: [
    { flags: '--output <file>', summary: 'write to this file instead of standard output' },
    { flags: '--no-evidence', summary: 'leave out the evidence, but not its hash' },
    {
      flags: '--upgrade <file>',
      summary:
        'write a copy of this bundle with the chain proof; use this option instead of the argument task',
    },
    {
      flags: '--rpc-url <url>',
      summary: 'with --upgrade: read the chain proof from this JSON-RPC endpoint',
    },
  ],
  examples: [
    'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b > bundle.json',
    'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b --no-evidence --output bundle.json',
    'svc bundle --upgrade bundle.json --output proven-bundle.json',
  ],
  run: bundle,
};

interface BundleInput {
  task?: string;
  output?: string;
  /** False with `--no-evidence`. */
  evidence: boolean;
  upgrade?: string;
  rpcUrl?: string;
}

/** Writes nothing if the bundle contradicts itself. */
async function bundle(context: Context, input: BundleInput): Promise<void> {
  const { task, upgrade, rpcUrl = null } = input;
  if ((task === undefined) === (upgrade === undefined)) {
    throw new SvcError('usage', 'Name either a task or a bundle with --upgrade.');
  }
  if (task !== undefined) {
    if (rpcUrl !== null) throw new SvcError('usage', '--rpc-url needs --upgrade.');
    return writeBundle(context, { ...input, task });
  }
  // Loaded on demand: it brings the code that reads the chain.
  const { upgradedBundle } = await import('../verify/upgrade.ts');
  requirePrivateNodes(rpcUrl === null ? [] : [rpcUrl], context.options);
  const whole = await upgradedBundle(context, upgrade ?? '', rpcUrl);
  const { proof: _, ...bare } = whole;
  await write(context, input.evidence ? whole : bare, input.output);
}

async function writeBundle(context: Context, input: BundleInput & { task: string }): Promise<void> {
  const { call, output, wait } = context;
  const params = { id: await findTask(context, input.task) };
  const { body: task } = await wait('Reading the task', () => call('getTask', { params }));
  if (task.anchor === null) {
    throw new SvcError('still_pending', 'The service has no evidence of this task yet.');
  }
  const { body } = await wait('Reading the bundle', () => call('getBundle', { params }));
  const whole = await soundBundle(body, params.id);
  const { proof: _, ...bare } = whole;
  const written = input.evidence ? whole : bare;
  const finality = task.verification?.finality ?? null;
  if (finality !== 'finalized' && !output.asksJson) {
    output.warn(
      `The anchor is not final yet (${finality}). If a chain reorganization moves it, this bundle no longer verifies. Write it again after svc tasks watch ${params.id} --until finalized`,
    );
  }
  if (input.evidence && whole.proof === undefined) {
    output.note('The evidence was erased; the bundle contains only its hash.');
  }
  await write(context, written, input.output, { finality });
}

/** Writes to the file, and then prints `facts` with --json. Without a file, prints the bundle. */
async function write(
  { output }: Context,
  bundle: Bundle,
  file: string | undefined,
  facts: Record<string, unknown> = {},
): Promise<void> {
  if (file === undefined) return output.json(bundle);
  await saveFile(file, `${formatJson(bundle, true)}\n`);
  output.done({ file, tx_hash: bundle.anchor.tx_hash, ...facts }, `Wrote ${file}.`);
}

/** Checks everything that needs no chain. Throws `unexpected_answer`, `unsound_bundle`. */
async function soundBundle(body: unknown, id: string): Promise<Bundle> {
  const read = bundleOfService(body);
  if (read.task.id !== id) {
    throw new SvcError('unexpected_answer', 'The service sent the bundle of another task.');
  }
  const hint = 'Report this to the operator of the service; nothing was written.';
  const signing = await auditSigning(read);
  requireSound([...auditBundleAlone(read), ...(signing?.checks ?? [])], hint);
  return read;
}
