// Records of the spool: their content, their rows, and the checksum that proves a row undamaged.
import { crc32 } from 'node:zlib';
import { hashCanonicalText } from '../../proof/hash.ts';
import { OUTCOMES, type Outcome } from '../../proof/statements/statement.ts';
import type { Instant } from '../clock.ts';

export type RecordKind = 'claim' | 'completion' | 'sample' | 'event' | 'statement';

/** Content of a request. It never changes after it was accepted. */
export interface SpoolRecord extends Instant {
  readonly kind: RecordKind;
  /** Id of the task, sample or event. */
  readonly id: string;
  /** JSON text. That of a completion begins with the outcome and a space if the robot stated one (`evidenceOf`). */
  readonly body: string;
}

export function completionBody(evidence: string, outcome: Outcome | undefined): string {
  return outcome === undefined ? evidence : `${outcome} ${evidence}`;
}

/** Evidence and outcome of a completion. `outcome`: null if the robot did not state it. */
export function evidenceOf(body: string) {
  const outcome = OUTCOMES.find((one) => body.startsWith(`${one} `)) ?? null;
  const text = outcome === null ? body : body.slice(outcome.length + 1);
  return { outcome, text, proofHash: () => hashCanonicalText(text) };
}

export interface StoredRecord extends SpoolRecord {
  /** Order of acceptance among records of its kind. */
  readonly seq: number;
}

/** CRC-32 of the whole record. */
export function checksumOf({ kind, id, wallMs, boot, monoMs, body }: SpoolRecord): number {
  return crc32(`${kind}\n${id}\n${wallMs}\n${boot}\n${monoMs}\n${body}`);
}

/** The columns that all tables of records share (`schema.ts`). */
export interface RecordRow extends StoredRecord {
  readonly crc: number;
}

export const recordColumns = 'seq, kind, id, wall_ms wallMs, boot, mono_ms monoMs, crc, body';

/** @throws DamagedRecord if the checksum does not match */
export function recordOf(row: RecordRow): StoredRecord {
  const { seq, kind, id, wallMs, boot, monoMs, crc, body } = row;
  if (checksumOf(row) !== crc) throw new DamagedRecord();
  return { seq, kind, id, wallMs, boot, monoMs, body };
}

/** The shared columns and their parameters, for an INSERT. Where `seq` is null, SQLite gives the row the next one. */
export const insertedColumns = 'seq, kind, id, wall_ms, boot, mono_ms, crc, body';
export const insertedValues = '@seq, @kind, @id, @wallMs, @boot, @monoMs, @crc, @body';

/** Parameters for the INSERT of a new row. */
export function valuesOf(record: SpoolRecord) {
  const { kind, id, wallMs, boot, monoMs, body } = record;
  return { seq: null, kind, id, wallMs, boot, monoMs, crc: checksumOf(record), body };
}

/** The checksum of a row does not match its content: the file is damaged. */
export class DamagedRecord extends Error {
  constructor() {
    super('A record of the spool is not what was written');
    this.name = 'DamagedRecord';
  }
}
