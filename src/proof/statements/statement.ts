// Statements: what a robot signs about a task, when it claims the task and when it hands in the result.
import type { Hex } from '../bytes.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { JsonObject } from '../json-value.ts';
import { HASH, Members, TIME, UUID } from '../subject/members.ts';
import { hashText, type JwsHeader, readJws, signedText } from './jws.ts';

/** The `typ` of a statement. Statements of another version get a new number. */
export const STATEMENT_TYP = 'svc-statement/1';

export const OUTCOMES = ['succeeded', 'failed', 'aborted'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What claim and result both state. */
interface Common {
  readonly robot_id: string;
  readonly task_id: string;
  /** Drawn at random at each start of the agent. */
  readonly epoch: string;
  /** The statements of a key are numbered in order, from the first number in its key text. */
  readonly number: number;
  /** SHA-256 of header and payload of the statement before, by the same key; null for the first one. */
  readonly prev: Hex | null;
  /** `contentHash` of the task. */
  readonly content_hash: Hex;
  /** By the clock of the robot. */
  readonly time: string;
  /** Whether the robot's system said that its clock is synchronized. */
  readonly clock_synchronized: boolean;
}

export type Statement =
  | (Common & { readonly type: 'claim' })
  | (Common & { readonly type: 'result'; readonly proof_hash: Hex; readonly outcome: Outcome });

/** A statement that was read, before its signature is checked. */
export interface ReadStatement {
  readonly statement: Statement;
  readonly header: JwsHeader;
  readonly signed: string;
  /** SHA-256 of header and payload: the `prev` of the next statement. */
  readonly signedHash: Hex;
  readonly signature: Uint8Array;
  /** SHA-256 of the whole text, as in the leaf. */
  readonly statementHash: Hex;
}

/** The members of a task that the robot sets itself. Absent ones count as null. */
export interface TaskContent {
  readonly description?: string | null;
  readonly expected_result?: JsonObject | null;
  readonly occurred_at?: string | null;
  readonly title: string;
}

/** `SHA-256(JCS({ description, expected_result, occurred_at, title }))`. */
export function contentHash({
  description,
  expected_result,
  occurred_at,
  title,
}: TaskContent): Hex {
  return hashText(
    canonicalJson({
      description: description ?? null,
      expected_result: expected_result ?? null,
      occurred_at: occurred_at ?? null,
      title,
    }),
  );
}

/** Header and payload of a statement, ready to be signed. */
export function statementText({ alg, kid }: Omit<JwsHeader, 'typ'>, statement: Statement): string {
  return signedText({ alg, kid, typ: STATEMENT_TYP }, statement);
}

/** @throws DocumentError if the text is not exactly a statement. */
export function readStatement(text: string): ReadStatement {
  const { header, payload, signed, signature } = readJws('statement', STATEMENT_TYP, text);
  const members = new Members('statement', payload);
  const common = {
    robot_id: members.text('robot_id', UUID),
    task_id: members.text('task_id', UUID),
    epoch: members.text('epoch', UUID),
    number: members.integer('number', 1),
    prev: members.nullable('prev', (name) => members.hex(name, HASH)),
    content_hash: members.hex('content_hash', HASH),
    time: members.text('time', TIME),
    clock_synchronized: members.boolean('clock_synchronized'),
  };
  const statement: Statement =
    members.text('type', TYPE) === 'claim'
      ? { ...common, type: 'claim' }
      : {
          ...common,
          type: 'result',
          proof_hash: members.hex('proof_hash', HASH),
          outcome: members.text('outcome', OUTCOME) as Outcome, // The form allows no other.
        };
  members.requireNoOther();
  return {
    statement,
    header,
    signed,
    signedHash: hashText(signed),
    signature,
    statementHash: hashText(text),
  };
}

const TYPE = { pattern: /^(?:claim|result)$/, name: 'claim or result' };
const OUTCOME = { pattern: /^(?:succeeded|failed|aborted)$/, name: 'succeeded, failed or aborted' };
