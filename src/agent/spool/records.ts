import { crc32 } from 'node:zlib';
import type { Instant } from '../clock.ts';

export type RecordKind = 'claim' | 'completion' | 'sample' | 'event';

/** What the spool keeps of a request; it never changes once accepted. */
export interface SpoolRecord extends Instant {
  readonly kind: RecordKind;
  /** Of the task, sample or event. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export interface StoredRecord extends SpoolRecord {
  /** Order of acceptance among records of its kind. */
  readonly seq: number;
}

/** CRC-32 of everything in the record. */
export function checksumOf({ kind, id, wallMs, boot, monoMs, body }: SpoolRecord): number {
  return crc32(`${kind}\n${id}\n${wallMs}\n${boot}\n${monoMs}\n${body}`);
}

/** The first columns of a row, as `schema.ts` has them. */
export interface RecordRow {
  seq: number;
  kind: RecordKind;
  id: string;
  wall_ms: number;
  boot: number;
  mono_ms: number;
  crc: number;
  body: string;
}

export const recordColumns = 'seq, kind, id, wall_ms, boot, mono_ms, crc, body';

/** @throws DamagedRecord when the row is not what was written. */
export function recordOf(row: RecordRow): StoredRecord {
  const { seq, kind, id, wall_ms: wallMs, boot, mono_ms: monoMs, crc, body } = row;
  const record = { seq, kind, id, wallMs, boot, monoMs, body };
  if (checksumOf(record) !== crc) throw new DamagedRecord();
  return record;
}

/** For an INSERT of the first columns without `seq`, and with `body` last. */
export function valuesOf(record: SpoolRecord) {
  const { kind, id, wallMs, boot, monoMs, body } = record;
  return { kind, id, wallMs, boot, monoMs, crc: checksumOf(record), body };
}

/** A row's checksum does not fit its content: the file is damaged. */
export class DamagedRecord extends Error {
  constructor() {
    super('A record of the spool is not what was written');
    this.name = 'DamagedRecord';
  }
}
