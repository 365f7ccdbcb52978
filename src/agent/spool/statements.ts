// The table of statements, and the key that the robot signs them with.
import { randomUUID } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import type { Hex } from '../../proof/bytes.ts';
import { hashText } from '../../proof/statements/jws.ts';
import type { Algorithm } from '../../proof/statements/public-key.ts';
import type { Statement } from '../../proof/statements/statement.ts';
import type { Instant } from '../clock.ts';
import {
  insertedColumns,
  insertedValues,
  type RecordRow,
  recordColumns,
  recordOf,
  type SpoolRecord,
  type StoredRecord,
  valuesOf,
} from './records.ts';

/** A key that the owner put into use. */
export interface ActiveKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly thumbprint: string;
  readonly firstNumber: number;
  /** The last statement that the service has; null without one. This spool may have later ones. */
  readonly last: { readonly number: number; readonly hash: Hex } | null;
}

/** A statement as the spool stores it. */
export interface StoredStatement extends StoredRecord {
  readonly kid: string;
  readonly number: number;
  readonly about: Statement;
  /** Header and payload. */
  readonly signed: string;
  /** What a claim sends as `occurred_at`, and its statement covers; null for a result. */
  readonly occurredAt: string | null;
  /** The whole JWS; null until it is signed. */
  readonly jws: string | null;
}

interface StatementRow extends RecordRow {
  kid: string;
  number: number;
  signature: string | null;
}

/** Estimated size of a statement in the spool, in bytes. */
export const STATEMENT_BYTES = 1200;

const KEY = 'signing_key';
const isOfKey = `kid = (SELECT value ->> 'kid' FROM meta WHERE name = '${KEY}')`;
/** Not signed yet, by the key in use. */
export const isUnsigned = `signature IS NULL AND ${isOfKey}`;

/** Every method runs inside the caller's transaction. */
export class StatementTable {
  /** A new one after each start and each recovery: a recovery may lose the last numbers. */
  readonly epoch = randomUUID();
  readonly #sql;

  constructor(db: Database) {
    const columns = `${recordColumns}, kid, number, signature`;
    this.#sql = {
      key: db.prepare<[], string>(`SELECT value FROM meta WHERE name = '${KEY}'`).pluck(),
      keepKey: db.prepare(`INSERT OR REPLACE INTO meta (name, value) VALUES ('${KEY}', ?)`),
      insert: db.prepare(
        `INSERT OR IGNORE INTO statements (${insertedColumns}, kid, number, type, signed_hash)
           VALUES (${insertedValues}, @kid, @number, @type, @signedHash)`,
      ),
      last: db.prepare<[string], { number: number; hash: Hex }>(
        'SELECT number, signed_hash AS hash FROM statements WHERE kid = ? ORDER BY number DESC LIMIT 1',
      ),
      about: db.prepare<[string, string], StatementRow>(
        `SELECT ${columns} FROM statements WHERE id = ? AND type = ? ORDER BY seq DESC`,
      ),
      unsigned: db.prepare<[number], StatementRow>(
        `SELECT ${columns} FROM statements WHERE ${isUnsigned} ORDER BY number LIMIT ?`,
      ),
      waiting: db
        .prepare<[], number>(`SELECT count(*) FROM statements WHERE ${isUnsigned}`)
        .pluck(),
      left: db.prepare<[string, number], StatementRow>(
        `SELECT ${columns} FROM statements s WHERE signature IS NOT NULL
           AND seq NOT IN (SELECT value FROM json_each(?))
           AND (EXISTS (SELECT 1 FROM statements n WHERE n.id = s.id AND n.type = s.type AND n.seq > s.seq)
             OR NOT EXISTS (SELECT 1 FROM receipts WHERE task_id = s.id)
             AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = s.id AND s.type = 'claim')
             AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.id = s.id AND s.type = 'result'))
           ORDER BY number LIMIT ?`,
      ),
      sign: db.prepare('UPDATE statements SET signature = ? WHERE seq = ? AND signature IS NULL'),
      read: db.prepare<[number, number], StatementRow>(
        `SELECT ${columns} FROM statements WHERE seq > ? ORDER BY seq LIMIT ?`,
      ),
    };
  }

  /** The key in use; null before the owner has signed one. */
  key(): ActiveKey | null {
    const text = this.#sql.key.get();
    return text === undefined ? null : JSON.parse(text);
  }

  /** Changes the key in use. A robot that signs never stops. */
  use(key: ActiveKey): void {
    this.#sql.keepKey.run(JSON.stringify(key));
  }

  /** The last statement of the key, here or at the service; null without any. */
  last({ kid, firstNumber, last }: ActiveKey): { number: number; hash: Hex } | null {
    const own = this.#sql.last.get(kid) ?? null;
    const known = last !== null && last.number >= firstNumber ? last : null;
    return known !== null && known.number > (own?.number ?? 0) ? known : own;
  }

  /** Adds a statement whose number is free. */
  insert(signed: string, occurredAt: string | null, now: Instant): void {
    const body = JSON.stringify({ occurred_at: occurredAt, signed });
    const { task_id: id } = payloadOf(signed);
    this.restore({ kind: 'statement', id, ...now, body });
  }

  /** Inserts a recovered statement, which has to be signed again. */
  restore(record: SpoolRecord): void {
    const { signed }: { signed: string } = JSON.parse(record.body);
    const { number, type } = payloadOf(signed);
    const { kid } = partOf<{ kid: string }>(signed, 0);
    const about = { kid, number, type, signedHash: hashText(signed) };
    this.#sql.insert.run({ ...valuesOf(record), ...about });
  }

  /** The statements about the claim or the result of a task, by any key, newest first. */
  about(taskId: string, type: Statement['type']): StoredStatement[] {
    return this.#sql.about.all(taskId, type).map(statementOf);
  }

  /** The hashes of the signed statements about this result of the task. */
  resultHashes(taskId: string, proofHash: Hex): Hex[] {
    return this.about(taskId, 'result').flatMap(({ about, jws }) =>
      about.type === 'result' && about.proof_hash === proofHash && jws !== null
        ? hashText(jws)
        : [],
    );
  }

  /** Statements of the key in use that are not signed yet, in the order of their numbers. */
  unsigned(most: number): StoredStatement[] {
    return this.#sql.unsigned.all(most).map(statementOf);
  }

  /**
   * Signed statements whose claim or completion was set aside, dropped or numbered again: no upload carries them. `without`:
   * their `seq`.
   */
  left(most: number, without: readonly number[]): StoredStatement[] {
    return this.#sql.left.all(JSON.stringify(without), most).map(statementOf);
  }

  /** Number of statements that wait for a signature. */
  waiting(): number {
    return this.#sql.waiting.get() ?? 0;
  }

  /** Keeps the signature, in base64url. A statement keeps its first one. */
  sign({ seq }: StoredStatement, signature: string): void {
    this.#sql.sign.run(signature, seq);
  }

  /** Statements after the sequence number `after`, oldest first. */
  read(most: number, after = 0): StoredStatement[] {
    return this.#sql.read.all(after, most).map(statementOf);
  }
}

/** @throws DamagedRecord */
function statementOf(row: StatementRow): StoredStatement {
  const { signature, ...record } = recordOf(row);
  const { occurred_at: occurredAt, signed } = JSON.parse(record.body);
  const jws = signature && `${signed}.${signature}`;
  return { ...record, about: payloadOf(signed), signed, occurredAt, jws };
}

function payloadOf(signed: string): Statement {
  return partOf<Statement>(signed, 1);
}

/** This program wrote the text. */
function partOf<T>(signed: string, part: number): T {
  return JSON.parse(Buffer.from(signed.split('.')[part] ?? '', 'base64url').toString());
}
