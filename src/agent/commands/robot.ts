// The commands that a robot's shell scripts call: `claim`, `complete`, `telemetry`, `event` and `receipts`.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { SvcError } from '../../base/svc-error.ts';
import { unreadableFile } from '../../base/unreadable-file.ts';
import { hashProof } from '../../proof/hash.ts';
import type { Proof } from '../../proof/json-value.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { askDaemon } from './local-client.ts';

export function addCommands(program: Command, exitWith: (code: number) => void): void {
  program
    .command('claim')
    .description('Claim a task and print its id')
    .argument('<title>', 'what the robot is about to do')
    .option('--id <uuid>', 'makes a repeated claim harmless')
    .option('--description <text>', 'more than the title says')
    .option('--expected <file>', 'JSON object with the expected result; - reads standard input')
    .addHelpText('after', '\nExample:\n  task=$(svc-agent claim "Survey the office hall")')
    .action((title: string, options: ClaimOptions) => claim(process.env, title, options));
  program
    .command('complete')
    .description('Hand in the proof of a task; ends with 8 while it is not anchored')
    .argument('<task>', 'id of the task')
    .argument('<file>', 'JSON object or array; - reads standard input')
    .option('--wait <seconds>', 'wait this many seconds for the receipt', wholeNumber, 0)
    .addHelpText('after', '\nExample:\n  svc-agent complete "$task" evidence.json --wait 60')
    .action(async (task: string, file: string, options: { wait: number }) =>
      exitWith(await complete(process.env, task, file, options)),
    );
  program
    .command('telemetry')
    .description('Record a health sample, or those of a file')
    .argument('[file]', 'JSON: one sample, or { "samples": […] }; - reads standard input')
    .option('--battery <percent>', 'battery_pct, 0 to 100', Number)
    .option('--state <text>', 'idle, busy, error, charging, offline, or another')
    .option('--metric <name=number>', 'a reading; may be repeated', collect, [])
    .addHelpText(
      'after',
      '\nExamples:\n  svc-agent telemetry --battery 81 --state busy --metric speed_m_s=0.4\n  svc-agent telemetry samples.json',
    )
    .action((file: string | undefined, options: SampleOptions) =>
      recordSample(process.env, file, options),
    );
  program
    .command('event')
    .description('Log an ops event')
    .argument('<type>', 'error, state_change, info, or another')
    .argument('[message]', 'what happened')
    .option('--severity <severity>', 'info, warn or error')
    .option('--payload <file>', 'JSON object; - reads standard input')
    .addHelpText('after', '\nExample:\n  svc-agent event error "Gripper jammed" --severity error')
    .action((type: string, message: string | undefined, options: EventOptions) =>
      logEvent(process.env, type, message, options),
    );
  program
    .command('receipts')
    .description('Print the newest receipts that came through this agent, one JSON object a line')
    .option('--task <id>', 'of this task alone; ends with 8 while there is none')
    .addHelpText('after', '\nExample:\n  svc-agent receipts --task "$task" > receipt.json')
    .action(async (options: { task?: string }) =>
      exitWith(await printReceipts(process.env, options)),
    );
}

interface ClaimOptions {
  id?: string;
  description?: string;
  expected?: string;
}

interface SampleOptions {
  battery?: number;
  state?: string;
  metric: string[];
}

interface EventOptions {
  severity?: string;
  payload?: string;
}

/** Exit code while a proof is not anchored. */
const PENDING = 8;

async function claim(
  environment: NodeJS.ProcessEnv,
  title: string,
  { id, description, expected }: ClaimOptions,
): Promise<void> {
  const fields = { id, title, description };
  const body = await withDocument(fields, 'expected_result', expected);
  const answer = await askDaemon(environment, 'POST', '/api/v1/tasks', { body });
  process.stdout.write(`${answer.body.task.id}\n`);
}

/** Prints the receipt, or the state of the completion. Repeated with the same evidence it prints the first receipt. */
async function complete(
  environment: NodeJS.ProcessEnv,
  task: string,
  file: string,
  { wait }: { wait: number },
): Promise<number> {
  const body = await withDocument({}, 'proof', file);
  const headers: Record<string, string> = wait > 0 ? { prefer: `wait=${wait}` } : {};
  const answer = await askDaemon(environment, 'POST', `${pathOf(task)}/complete`, {
    body,
    headers,
  }).catch((error) => ({ status: 200, body: receiptOfSame(error, body) }));
  printLine(answer.status === 200 ? answer.body.verification : answer.body);
  return answer.status === 200 ? 0 : PENDING;
}

/** The receipt of an earlier completion with the same evidence. @throws `error` in any other case */
function receiptOfSame(error: unknown, body: string): { verification: unknown } {
  if (!(error instanceof SvcError && error.code === 'already_completed')) throw error;
  const { proof } = parseStrictJson(body) as { proof: Proof };
  const { proof_hash, verification } = error.details as {
    proof_hash: string;
    verification: unknown;
  };
  if (hashProof(proof) !== proof_hash) {
    throw new SvcError(
      'already_completed',
      `The task is already completed, with other evidence: ${proof_hash}.`,
    );
  }
  return { verification };
}

async function recordSample(
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
  options: SampleOptions,
): Promise<void> {
  const body = file === undefined ? sampleOf(options) : await readText(file);
  const answer = await askDaemon(environment, 'POST', '/api/v1/telemetry', { body });
  process.stderr.write(`${answer.body.accepted} recorded.\n`);
}

async function logEvent(
  environment: NodeJS.ProcessEnv,
  type: string,
  message: string | undefined,
  { severity, payload }: EventOptions,
): Promise<void> {
  const fields = { event_type: type, message, severity };
  const body = await withDocument(fields, 'payload', payload);
  const answer = await askDaemon(environment, 'POST', '/api/v1/events', { body });
  process.stdout.write(`${answer.body.event.id}\n`);
}

async function printReceipts(
  environment: NodeJS.ProcessEnv,
  { task }: { task?: string },
): Promise<number> {
  if (task === undefined) {
    const answer = await askDaemon(environment, 'GET', '/api/v1/receipts');
    for (const receipt of answer.body.items) printLine(receipt);
    return 0;
  }
  const { verification } = (await askDaemon(environment, 'GET', pathOf(task))).body;
  if (verification === null) return PENDING;
  printLine(verification);
  return 0;
}

function pathOf(task: string): string {
  return `/api/v1/tasks/${encodeURIComponent(task)}`;
}

/** Inserts the document's text unparsed, because the daemon reads it more strictly than JSON.parse. */
async function withDocument(
  fields: Record<string, unknown>,
  name: string,
  file: string | undefined,
): Promise<string> {
  const rest = JSON.stringify(fields);
  if (file === undefined) return rest;
  const document = `${JSON.stringify(name)}:${await readText(file)}`;
  return rest === '{}' ? `{${document}}` : `${rest.slice(0, -1)},${document}}`;
}

async function readText(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unreadableFile(file, error);
  }
}

function sampleOf({ battery, state, metric }: SampleOptions): string {
  const metrics = Object.fromEntries(metric.map(readingOf));
  return JSON.stringify({
    battery_pct: battery,
    state,
    ...(metric.length > 0 && { metrics }),
  });
}

function readingOf(text: string): [string, number] {
  const [, name, number] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const value = Number(number);
  if (name === undefined || number === undefined || !Number.isFinite(value)) {
    throw new SvcError('usage', `--metric takes NAME=NUMBER, not ${JSON.stringify(text)}.`);
  }
  return [name, value];
}

function printLine(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function collect(text: string, before: string[]): string[] {
  return [...before, text];
}
