// The commands that a robot's shell scripts call: `claim`, `complete`, `telemetry`, `event` and `receipts`.
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { escapeText } from '../../base/escape.ts';
import { withFileProgress } from '../../base/progress.ts';
import { SvcError, unreadableFile } from '../../base/svc-error.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { Proof } from '../../proof/json-value.ts';
import { OUTCOMES, type Outcome } from '../../proof/statements/statement.ts';
import { parseStrictJson, type StrictJsonOptions } from '../../proof/strict-json.ts';
import { CHANGED_INTEGER, StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';
import { limits } from '../../protocol/limits.ts';
import { setAsideError } from '../errors.ts';
import type { AgentStatus } from '../status.ts';
import { askDaemon } from './local-client.ts';

export function addCommands(program: Command, exitWith: (code: number) => void): void {
  program
    .command('claim')
    .description('Claim a task and print its id')
    .argument('<title>', 'what the robot is about to do, at most 200 characters')
    .option(
      '--id <uuid>',
      'id of the task (default: a new UUID); a repeated claim with the same id and content has no effect',
    )
    .option('--description <text>', 'details of the task')
    .option('--expected <file>', 'JSON object with the expected result; - for standard input')
    .addHelpText('after', '\nExample:\n  task=$(svc-agent claim "Survey the office hall")')
    .action(claim);
  program
    .command('complete')
    .description(
      'Submit the evidence of a task; exits with 8 only if this evidence is stored on this machine but not anchored yet',
    )
    .argument('<task>', 'id of the task')
    .argument('<file>', 'file with the evidence, a JSON object or array; - for standard input')
    .option(
      '--attach <file>',
      'list this file, with its hashes, in the member "files" of the evidence; can be repeated',
      (file: string, before: string[] = []) => [...before, file],
    )
    .addOption(
      new Option(
        '--outcome <outcome>',
        'how the work ended, as the robot states it (default of a robot that signs: succeeded)',
      ).choices(OUTCOMES),
    )
    .option('--wait <seconds>', 'time to wait for the receipt, 0 to 600', waitSeconds, 0)
    .option('--anyway', 'store the evidence even if the service does not know the task')
    .addOption(
      new Option(
        '--big-integers <as>',
        'string: submit integers beyond 2^53 as strings, and print the converted evidence on standard error',
      ).choices(['string']),
    )
    .addHelpText(
      'after',
      '\nsvc-agent complete reads attached files to compute their hashes, but does not move or upload these files. The daemon does not read them.\n\nA task has one evidence. If the agent already has other evidence of this task, the new evidence is not stored (exit code 1). Claim a new task for it.\n\nExamples:\n  svc-agent complete "$task" evidence.json --wait 60\n  svc-agent complete "$task" evidence.json --attach run.mcap --attach photo.jpg',
    )
    .action(async (task: string, file: string, options: CompleteOptions) =>
      exitWith(await complete(task, file, options)),
    );
  program
    .command('telemetry')
    .description(
      'Record a telemetry sample, or the samples in a file; exits with 1 if some samples are malformed and were set aside',
    )
    .argument('[file]', 'JSON: one sample, or { "samples": […] }; - for standard input')
    .option('--battery <percent>', 'battery level in percent, 0 to 100 (battery_pct)', percent)
    .option('--state <text>', 'robot state: idle, busy, error, charging, offline or any other text')
    .option('--metric <name=number>', 'one metric; can be repeated', addReading)
    .addHelpText(
      'after',
      '\nTo a sample whose time it corrects, the agent adds the metric svc_agent_clock: what the clocks of the robot said.\n\nExamples:\n  svc-agent telemetry --battery 81 --state busy --metric speed_m_s=0.4\n  svc-agent telemetry samples.json',
    )
    .action(async (file: string | undefined, options: SampleOptions) =>
      exitWith(await recordSample(file, options)),
    );
  program
    .command('event')
    .description('Record an event and print its id')
    .argument('<type>', 'type of the event: error, state_change, info, or any other text')
    .argument('[message]', 'what happened, at most 2000 characters')
    .addOption(new Option('--severity <severity>', 'default: info').choices(SEVERITIES))
    .option('--payload <file>', 'JSON object; - for standard input')
    .addHelpText('after', '\nExample:\n  svc-agent event error "Gripper jammed" --severity error')
    .action(logEvent);
  program
    .command('receipts')
    .description(
      'Print receipts as JSON lines, newest first, and print set-aside completions on standard error',
    )
    .option(
      '--task <id>',
      'print only the receipt of this task; exits with 8 if the task has no receipt yet',
    )
    .addHelpText('after', '\nExample:\n  svc-agent receipts --task "$task" > receipt.json')
    .action(async (options: { task?: string }) => exitWith(await printReceipts(options)));
}

const SEVERITIES = ['info', 'warn', 'error'];

type ClaimOptions = Partial<Record<'id' | 'description' | 'expected', string>>;

interface CompleteOptions {
  attach?: string[];
  outcome?: Outcome;
  wait: number;
  anyway?: true;
  bigIntegers?: 'string';
}

interface SampleOptions {
  battery?: number;
  state?: string;
  metric?: Reading[];
}

type Reading = readonly [name: string, value: number];

type EventOptions = Partial<Record<'severity' | 'payload', string>>;

/** Exit code while a proof is not anchored. */
const PENDING = 8;

async function claim(title: string, { id, description, expected }: ClaimOptions): Promise<void> {
  const fields = { id, title, description };
  const body = await withDocument(fields, 'expected_result', expected);
  const answer = await askDaemon('POST', '/api/v1/tasks', { body });
  process.stdout.write(`${answer.body.task.id}\n`);
}

/** Prints the receipt, or the state of the completion. Repeated with the same evidence it prints the first receipt. */
async function complete(
  task: string,
  file: string,
  { attach, outcome, wait, anyway, bigIntegers: numbers }: CompleteOptions,
) {
  const given = await readJson(file, { numbers });
  const text = numbers ? canonicalJson(parseStrictJson(given, { numbers })) : given;
  const evidence = attach === undefined ? text : await withFiles(text, attach);
  if (numbers) process.stderr.write(`${evidence}\n`);
  const stated = outcome === undefined ? '' : `,"outcome":"${outcome}"`;
  const body = `{"proof":${evidence}${stated}}`;
  const wishes = [wait > 0 && `wait=${wait}`, anyway && 'handling=lenient'].filter(Boolean);
  const headers: Record<string, string> = wishes.length > 0 ? { prefer: wishes.join(', ') } : {};
  const answer = await askDaemon('POST', `${pathOf(task)}/complete`, {
    body,
    headers,
  }).catch((error) => ({ status: 200, body: receiptOfSame(withHint(error, task)) }));
  const { warning } = answer.body;
  if (warning !== undefined) process.stderr.write(`Warning: ${escapeText(warning)}\n`);
  printLine(answer.status === 200 ? answer.body.verification : answer.body);
  return answer.status === 200 ? 0 : PENDING;
}

/** The evidence with its list of files, in canonical form. */
async function withFiles(text: string, attach: readonly string[]): Promise<string> {
  const { attachFiles } = await import('../../client/files.ts');
  const evidence = parseStrictJson(text) as Proof;
  return canonicalJson(
    await withFileProgress(process.stderr.isTTY, (onRead) => attachFiles(evidence, attach, onRead)),
  );
}

/** The error; for a task that the service does not know, with the option that stores the evidence nevertheless. */
function withHint(error: unknown, task: string): unknown {
  if (!(error instanceof SvcError && error.code === 'not_found')) return error;
  // Evidence of a malformed id is never stored.
  if (!/^[\da-f-]{36}$/i.test(task)) return error;
  const hint = 'Check the id. To store the evidence nevertheless, add --anyway.';
  return new SvcError(error.code, error.message, { hint });
}

/**
 * The receipt of an earlier completion with the same evidence. If the task has other evidence, throws `not_stored`: its
 * exit code must not be that of stored evidence. Throws `error` in any other case.
 */
function receiptOfSame(error: unknown): { verification: unknown } {
  if (!(error instanceof SvcError)) throw error;
  const { same_evidence: isSame, verification } = error.details;
  if (isSame === false) throw new SvcError('not_stored', error.message);
  if (isSame !== true || verification === undefined) throw error;
  return { verification };
}

/** 1 if a sample was set aside. */
async function recordSample(file: string | undefined, options: SampleOptions): Promise<number> {
  if (file !== undefined && Object.keys(options).length > 0) {
    throw new SvcError('usage', 'Give a file, or --battery, --state and --metric, not both.');
  }
  // The daemon sets aside what is wrong in a sample.
  const reading = { numbers: 'round', onItemFault: () => null } as const;
  const body = file === undefined ? sampleOf(options) : await readJson(file, reading);
  const answer = await askDaemon('POST', '/api/v1/telemetry', { body });
  const { accepted, set_aside: aside = [] } = answer.body;
  process.stderr.write(`${accepted} recorded.\n`);
  for (const { message } of aside) process.stderr.write(`Set aside: ${escapeText(message)}\n`);
  return aside.length === 0 ? 0 : 1;
}

async function logEvent(
  type: string,
  message: string | undefined,
  { severity, payload }: EventOptions,
): Promise<void> {
  const fields = { event_type: type, message, severity };
  const body = await withDocument(fields, 'payload', payload, { numbers: 'round' });
  const answer = await askDaemon('POST', '/api/v1/events', { body });
  process.stdout.write(`${answer.body.event.id}\n`);
}

async function printReceipts({ task }: { task?: string }): Promise<number> {
  const { body: status } = await askDaemon('GET', '/api/v1/status');
  const aside: AgentStatus['set_aside'] = status.set_aside;
  if (task === undefined) {
    const answer = await askDaemon('GET', '/api/v1/receipts');
    for (const receipt of answer.body.items) printLine(receipt);
    for (const one of aside) process.stderr.write(`Set aside: ${JSON.stringify(one)}\n`);
    return 0;
  }
  const found = aside.find(({ task_id }) => task_id === task.toLowerCase());
  const { body } = await askDaemon('GET', pathOf(task)).catch((error) =>
    Promise.reject(found === undefined ? error : setAsideError(found)),
  );
  const { verification } = body;
  if (verification === null && found !== undefined) throw setAsideError(found);
  if (verification === null) return PENDING;
  printLine(verification);
  return 0;
}

function pathOf(task: string): string {
  return `/api/v1/tasks/${encodeURIComponent(task)}`;
}

/** Inserts the document's text as it is, so that the daemon gets what the file holds. */
async function withDocument(
  fields: Record<string, unknown>,
  name: string,
  file: string | undefined,
  options?: StrictJsonOptions,
): Promise<string> {
  const rest = JSON.stringify(fields);
  if (file === undefined) return rest;
  const document = `${JSON.stringify(name)}:${await readJson(file, options)}`;
  return rest === '{}' ? `{${document}}` : `${rest.slice(0, -1)},${document}}`;
}

/** The text of a JSON file, read as strictly as the daemon does. @throws SvcError `usage`, which names the file */
async function readJson(file: string, options?: StrictJsonOptions): Promise<string> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error) => {
    throw unreadableFile(file, error);
  });
  try {
    const text = decodeUtf8(bytes);
    parseStrictJson(text, { ...options, maxDepth: limits.documentDepth + 1 });
    return text;
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const name = file === '-' ? 'standard input' : file;
    const isConvertible = error.reason === CHANGED_INTEGER && options && 'numbers' in options;
    throw new SvcError('usage', `${name}: ${error.message}.`, {
      hint: isConvertible ? 'Convert such integers with --big-integers string.' : undefined,
    });
  }
}

function sampleOf({ battery, state, metric }: SampleOptions): string {
  return JSON.stringify({
    battery_pct: battery,
    state,
    ...(metric && { metrics: Object.fromEntries(metric) }),
  });
}

function printLine(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function waitSeconds(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 600) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of seconds from 0 to 600.');
}

function percent(text: string): number {
  const value = numberIn(text);
  if (value !== null && value >= 0 && value <= 100) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 100.');
}

function addReading(text: string, before: Reading[] = []): Reading[] {
  const [, name, number] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  const value = numberIn(number ?? '');
  if (name !== undefined && value !== null) return [...before, [name, value]];
  throw new InvalidArgumentError('It must be NAME=NUMBER.');
}

/** The number that a JSON text denotes, as the nearest double; null for any other text. */
function numberIn(text: string): number | null {
  const value = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}
