// Verifies an archive: all statements of a robot, from a file or from the service.
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { SvcError } from '../../base/svc-error.ts';
import { DocumentError } from '../../proof/document-error.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import {
  ARCHIVE_FORMAT,
  ArchiveAudit,
  type ArchiveReport,
  type KeyReport,
} from '../../proof/statements/archive.ts';
import type { SigningOptions, SigningPins } from '../../proof/statements/audit-signing.ts';
import type { NumberRange } from '../../proof/statements/sequence.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import type { Context } from '../context.ts';
import { nameOf } from '../input/files.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';

/** What each archive begins with, as `svc robots export` writes it. */
const BEGIN = `{"format":"${ARCHIVE_FORMAT}"`;

/** Whether a file, or standard input for `-`, is an archive. False for a file that cannot be read: its reader says why. */
export async function isArchive(file: string): Promise<boolean> {
  if (file === '-') {
    await once(process.stdin, 'readable');
    if (process.stdin.readableLength === 0) return false; // Empty: reading would end it.
    const start: Buffer = process.stdin.read();
    process.stdin.unshift(start);
    return start.toString('utf8', 0, BEGIN.length) === BEGIN;
  }
  const opened = await open(file).catch(() => null);
  if (opened === null) return false;
  try {
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(BEGIN.length), 0, BEGIN.length, 0);
    return buffer.toString('utf8', 0, bytesRead) === BEGIN;
  } catch {
    return false; // A directory.
  } finally {
    await opened.close();
  }
}

/** Throws `invalid_document` for a line that is not that of an archive. */
export async function* linesOf(file: string): AsyncGenerator<JsonValue> {
  let number = 0;
  const input = file === '-' ? process.stdin : createReadStream(file);
  for await (const line of createInterface({ input })) {
    number += 1;
    try {
      yield parseStrictJson(line);
    } catch (error) {
      if (!(error instanceof StrictJsonError)) throw error;
      const message = `Line ${number} of ${nameOf(file)} is not valid JSON.`;
      throw new SvcError('invalid_document', message, {
        hint: 'The file may be cut. Export it again with svc robots export.',
      });
    }
  }
}

/** Verifies the lines and prints the report. `refused`: faults of the files, complete after the last line. */
export async function verifyArchive(
  { output, wait }: Context,
  lines: AsyncIterable<JsonValue>,
  pins: SigningOptions,
  refused: readonly string[] = [],
): Promise<ExitCode> {
  const found = await wait('Verifying the statements', () => audited(lines, pins));
  const isSound = found.isSound && refused.length === 0;
  const report = { ...found, faults: [...found.faults, ...refused], isSound };
  if (output.asksJson) output.json({ outcome: outcomeOf(report), ...report });
  else for (const text of sentencesOf(report, pins)) output.text(text);
  return exitCodeOf[outcomeOf(report)];
}

async function audited(
  lines: AsyncIterable<JsonValue>,
  pins: SigningOptions,
): Promise<ArchiveReport> {
  const audit = new ArchiveAudit(pins);
  try {
    for await (const line of lines) await audit.add(line);
    return audit.report();
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new SvcError('invalid_document', `The archive is malformed: ${error.message}.`);
  }
}

const exitCodeOf = {
  verified: exitCodes.done,
  not_verified: exitCodes.notVerified,
  missing: exitCodes.missing,
  forked: exitCodes.forked,
  branched: exitCodes.branched,
} as const;

function outcomeOf({ keys, faults }: ArchiveReport): keyof typeof exitCodeOf {
  const any = (list: 'invalid' | 'broken' | 'forks' | 'branches' | 'missing') =>
    keys.some((key) => key[list].length > 0);
  if (faults.length > 0 || any('invalid')) return 'not_verified';
  if (any('forks')) return 'forked';
  if (any('branches')) return 'branched';
  if (any('missing') || keys.some(({ withheld }) => withheld > 0)) return 'missing';
  return any('broken') ? 'not_verified' : 'verified';
}

function* sentencesOf(report: ArchiveReport, pins: SigningPins): Generator<string> {
  const isEmpty = report.keys.every(({ range }) => range === null);
  const isPinned = pins.owner !== undefined || pins.robotKey !== undefined;
  const whole = isPinned ? 'COMPLETE' : 'NOT pinned';
  if (!isEmpty) yield outcomeOf(report) === 'verified' ? whole : 'NOT complete';
  yield `Robot ${report.robot_id} of wallet ${report.wallet} at ${report.origin}`;
  yield* report.faults.map((fault) => `${fault}.`);
  for (const key of report.keys) yield sentenceOf(key, isPinned);
  if (report.unfinished > 0) yield `${report.unfinished} claimed without a result.`;
  if (report.keys.some((key) => key.wallet_check === 'not_checked')) {
    yield 'Wallet not checked: only a node can tell whether it accepts the signature of the key (--rpc-url).';
  }
  if (!isPinned) {
    yield 'Not pinned: only the archive names the owner. Use --owner or --robot-key.';
  }
  yield 'Not proven: when the statements were made. Their anchors were not checked: verify the bundles of the tasks.';
  yield 'Not proven: that no statement exists after the last number.';
}

/** Of an archive that only names its own owner, nothing is said to be complete. */
function sentenceOf(key: KeyReport, isPinned: boolean): string {
  const { range, thumbprint, outcomes, withheld } = key;
  if (range === null) return `Key ${thumbprint}: no statement.`;
  const parts = [
    ...(key.missing.length > 0 || (withheld === 0 && isPinned)
      ? [counted('missing', key.missing.map(textOf))]
      : []),
    counted('forked', key.forks),
    ...(key.branches.length > 0 ? [counted('branched', key.branches)] : []),
    ...(key.broken.length > 0 ? [counted('out of sequence', key.broken)] : []),
    ...(key.invalid.length > 0 ? [counted('invalid', key.invalid)] : []),
    ...(withheld > 0
      ? [`${withheld} withheld: the service says that their tasks were deleted`]
      : []),
    ...(key.last_good !== null && key.after_revocation > 0
      ? [
          `${key.after_revocation} after number ${key.last_good}, the last that the owner stands by (${key.last_good + 1} to ${range.last})`,
        ]
      : []),
    `${outcomes.succeeded} succeeded, ${outcomes.failed} failed, ${outcomes.aborted} aborted`,
  ];
  const after = `what came after ${range.last} cannot be shown yet`;
  return `${range.first} to ${range.last} of key ${thumbprint}: ${parts.join(', ')}; ${after}.`;
}

function counted(what: string, found: readonly (number | string)[]): string {
  return found.length === 0 ? `none ${what}` : `${what}: ${found.join(', ')}`;
}

function textOf({ first, last }: NumberRange): string {
  return first === last ? `${first}` : `${first} to ${last}`;
}
