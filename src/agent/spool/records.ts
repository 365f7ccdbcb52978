// Records of the spool: their content, their rows, and the checksum that proves a row undamaged.
import { crc32 } from 'node:zlib';
import type { Outcome } from '../../proof/statements/statement.ts';
import type { Instant } from '../clock.ts';

export const RECORD_KINDS = ['claim', 'completion', 'sample', 'event', 'statement'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** Content of a request. It never changes after it was accepted. */
export interface SpoolRecord extends Instant {
  readonly kind: RecordKind;
  /** Id of the task, sample or event. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
  /** Of a completion, if the robot stated it. */
  readonly outcome?: Outcome | null | undefined;
}

export interface StoredRecord extends SpoolRecord {
  /** Order of acceptance among records of its kind. */
  readonly seq: number;
}

/** CRC-32 of the whole record. */
export function checksumOf(record: SpoolRecord): number {
  const { kind, id, wallMs, boot, monoMs, body, outcome } = record;
  const stated = outcome ? `\n${outcome}` : '';
  return crc32(`${kind}\n${id}\n${wallMs}\n${boot}\n${monoMs}\n${body}${stated}`);
}

/** The columns that all tables of records share (`schema.ts`). */
export interface RecordRow extends StoredRecord {
  readonly crc: number;
}

export const recordColumns = 'seq, kind, id, wall_ms wallMs, boot, mono_ms monoMs, crc, body';

/** @throws DamagedRecord if the checksum does not match */
export function recordOf<Row extends RecordRow>({ crc, ...record }: Row): Omit<Row, 'crc'> {
  if (checksumOf(record) !== crc) throw new DamagedRecord();
  return record;
}

/** The shared columns and their parameters, for an INSERT. Where `seq` is null, SQLite gives the row the next one. */
export const insertedColumns = 'seq, kind, id, wall_ms, boot, mono_ms, crc, body';
export const insertedValues = '@seq, @kind, @id, @wallMs, @boot, @monoMs, @crc, @body';

/** Parameters for the INSERT of a new row. */
export function valuesOf({ outcome = null, ...record }: SpoolRecord) {
  return { ...record, outcome, seq: null, crc: checksumOf({ ...record, outcome }) };
}

/** The checksum of a row does not match its content: the file is damaged. */
export class DamagedRecord extends Error {
  constructor() {
    super('A record of the spool is not what was written');
    this.name = 'DamagedRecord';
  }
}
