// Checks and stores statements of robots, alone or with the claim or result that they sign, and lists them.

import { orNull } from '../../../base/or-null.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { DocumentError } from '../../../proof/document-error.ts';
import { algorithmOf, openKey } from '../../../proof/statements/public-key.ts';
import {
  type Outcome,
  type ReadStatement,
  readStatement,
} from '../../../proof/statements/statement.ts';
import type { ErrorCode } from '../../../protocol/errors.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Answer, Query } from '../../../protocol/routes.ts';
import { formatTimestamp } from '../../../protocol/timestamp.ts';
import { wireError } from '../../ports/errors.ts';
import type { RobotCaller } from '../../ports/robots.ts';
import type { NewStatement, StatementOutcome, StatementRecord } from '../../ports/statements.ts';
import { type Expected, mismatchOf, misuseOf } from '../../rules/statements.ts';
import { rowBytes } from '../../rules/storage.ts';
import { type Deps, found, keyRevoked, storing } from '../deps.ts';
import { pageOf } from '../paging.ts';

type Sent = Answer<'sendStatements'>['body']['statements'][number];

/** What a stored statement adds to the completion of its task. */
export interface TakenStatement {
  hash: Hex;
  /** Null for a claim. */
  outcome: Outcome | null;
}

/**
 * Stores the statement of a claim or result, before the task is decided, so that a refusal leaves no gap in the numbers.
 * Throws `statement_required`, `statement_conflict`, `invalid_api_key` and, without room, `storage_unavailable`.
 */
export async function takeStatement(
  { store, clock }: Deps,
  robot: RobotCaller,
  text: string,
  expected: Expected,
  hasRoom: boolean,
): Promise<TakenStatement> {
  const checked = await check({ store }, robot, text);
  if ('reason' in checked) throw statementRequired(checked.reason);
  const { statement } = checked.read;
  const mismatch = mismatchOf(statement, expected);
  if (mismatch !== null) throw statementRequired(mismatch);
  const now = clock.now();
  const added = await store.addStatements(robot, [checked.statement], { hasRoom, now });
  const [answer] = added ?? [];
  if (answer === undefined) throw keyRevoked();
  if ('hash' in answer) {
    return { hash: answer.hash, outcome: statement.type === 'result' ? statement.outcome : null };
  }
  const { outcome } = answer;
  throw wireError(refusals[outcome], reasonOf(outcome, statement.number));
}

/** Stores statements without their tasks. Throws `storage_quota`, `storage_unavailable` and `invalid_api_key`. */
export async function sendStatements(
  deps: Deps,
  robot: RobotCaller,
  texts: readonly string[],
): Promise<Answer<'sendStatements'>['body']> {
  const checked: Checked[] = [];
  for (const text of texts) checked.push(await check(deps, robot, text));
  const valid = checked.flatMap((one) => ('statement' in one ? [one.statement] : []));
  const bytes = valid.reduce((sum, { text }) => sum + rowBytes(text), 0);
  const add = () =>
    deps.store.addStatements(robot, valid, { hasRoom: true, now: deps.clock.now() });
  const added = await storing(deps, robot, bytes, add);
  if (added === null) throw keyRevoked();
  const answers = added.values();
  const statements = checked.map((one): Sent => {
    if ('reason' in one) return { signed_hash: null, outcome: 'invalid', message: one.reason };
    const { outcome } = answers.next().value as StatementOutcome; // One for each valid statement.
    const signed_hash = one.statement.signedHash;
    if (outcome === 'stored' || outcome === 'repeated' || outcome === 'conflict') {
      return { signed_hash, outcome, message: null };
    }
    return { signed_hash, outcome: 'invalid', message: reasonOf(outcome, one.statement.number) };
  });
  return { statements };
}

/** One page of the statements of a key, in the order of their numbers. Throws `not_found`. */
export async function listStatements(
  { store }: Pick<Deps, 'store'>,
  wallet: string,
  robotId: string,
  { kid, limit, cursor }: Query<'listStatements'>,
) {
  found('robot', await store.getRobot(robotId, wallet));
  const [number = 0, place = 0] = (cursor ?? '').split('_').map(Number);
  return pageOf(limit, (count) => store.listStatements(robotId, kid, count, { number, place }), {
    cursorOf: (last) => `${last.number}_${last.place}`,
    view: viewStatement,
  });
}

function viewStatement({ number, signedHash, statementHash, text, receivedAt }: StatementRecord) {
  return {
    number,
    signed_hash: signedHash,
    statement_hash: statementHash,
    statement: text,
    received_at: formatTimestamp(receivedAt),
  };
}

type Checked = { statement: NewStatement; read: ReadStatement } | { reason: string };

/** Checks form, key, number and signature. `reason` says why the statement is invalid. */
async function check(
  { store }: Pick<Deps, 'store'>,
  robot: RobotCaller,
  text: string,
): Promise<Checked> {
  const read = orNull(() => readStatement(text), [DocumentError]);
  if (read === null) return { reason: 'it does not have the form of a statement' };
  const { header, statement, signed, signature, signedHash, statementHash } = read;
  const key = await store.getKey(robot.id, header.kid);
  if (key === null) return { reason: 'kid must be that of a key of the calling robot' };
  if (header.alg !== algorithmOf(key.publicKey)) return { reason: 'alg must be that of the key' };
  const misuse = misuseOf(read, key, robot.id);
  if (misuse !== null) return { reason: misuse };
  const isSigned = await openKey(key.publicKey);
  if (!(await isSigned(signed, signature))) return { reason: 'the signature does not match' };
  const { number, type, epoch, task_id: taskId } = statement;
  const hashes = { signedHash, statementHash };
  return { statement: { kid: header.kid, number, type, epoch, taskId, text, ...hashes }, read };
}

/** The error of a claim or result without a valid statement. */
export function statementRequired(reason: string) {
  const message = `This request needs a valid statement: ${reason}. Nothing was stored.`;
  return wireError('statement_required', message);
}

type Refusal = Exclude<StatementOutcome['outcome'], 'stored' | 'repeated'>;

const refusals = {
  conflict: 'statement_conflict',
  full: 'statement_conflict',
  key_ended: 'statement_required',
  too_high: 'statement_required',
  no_room: 'storage_unavailable',
} as const satisfies Record<Refusal, ErrorCode>;

function reasonOf(outcome: Refusal, number: number): string {
  const reasons: Record<Refusal, string> = {
    conflict: `The robot signed another statement with number ${number} in the same epoch. Both are kept.`,
    full: `${limits.statementsPerNumber} statements with number ${number} are kept. This one was not stored.`,
    key_ended: `The key is out of use for number ${number}. Nothing was stored.`,
    too_high: `Number ${number} is more than ${limits.statementsAhead} above the last one. Nothing was stored.`,
    no_room:
      'No storage is left, so only results that can be anchored are accepted. Nothing was stored.',
  };
  return reasons[outcome];
}
