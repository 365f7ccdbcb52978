// Decides which statements of a robot are valid, and what becomes of those that share a number.

import type { ReadStatement, Statement } from '../../proof/statements/statement.ts';
import { limits } from '../../protocol/limits.ts';
import type { RobotKey } from '../ports/identity.ts';
import type { NewStatement, StatementOutcome, StatementRecord } from '../ports/statements.ts';

/** What the request around a statement says. Absent members are not compared. */
export type Expected = Partial<
  Pick<Statement, 'type' | 'task_id' | 'content_hash'> &
    Pick<Extract<Statement, { type: 'result' }>, 'proof_hash' | 'outcome'>
>;

/** Why the statement is not one of this robot and this key; null if it is. The signature is checked elsewhere. */
export function misuseOf(
  { statement }: Pick<ReadStatement, 'statement'>,
  key: RobotKey,
  robotId: string,
): string | null {
  const { number } = statement;
  if (statement.robot_id !== robotId) return 'robot_id must be the id of the calling robot';
  if (number < key.firstNumber) return `number must be at least ${key.firstNumber} with this key`;
  return isAfter(number, key) ? endedKey(key) : null;
}

/** Whether the key was replaced or revoked before it signed this number. */
export function isAfter(number: number, { lastNumber }: Pick<RobotKey, 'lastNumber'>): boolean {
  return lastNumber !== null && number > lastNumber;
}

/** A statement far above the others would make all numbers between them missing for ever. */
export function isTooHigh(number: number, highest: number): boolean {
  return number > highest + limits.statementsAhead;
}

export function endedKey({ lastNumber }: Pick<RobotKey, 'lastNumber'>): string {
  return lastNumber === 0
    ? 'the key is out of use'
    : `the key is out of use after number ${lastNumber}`;
}

/** Why the statement does not belong to the request; null if it does. */
export function mismatchOf(statement: Statement, expected: Expected): string | null {
  const wrong = Object.entries(expected).find(
    ([name, value]) => value !== undefined && statement[name as keyof Statement] !== value,
  );
  return wrong === undefined ? null : `${wrong[0]} must be ${wrong[1]}, as in the request`;
}

/** A stored statement with the number of the new one. */
export type SameNumber = Pick<StatementRecord, 'place' | 'signedHash' | 'statementHash'> &
  Pick<NewStatement, 'epoch'>;

/**
 * Two statements with one number in one epoch are a fork: the first one counts, and the others are kept as evidence.
 * `place` is null if nothing is to be stored.
 */
export function placeOf(
  stored: readonly SameNumber[],
  { signedHash, epoch, statementHash }: Omit<SameNumber, 'place'>,
): { place: number | null; answer: StatementOutcome } {
  const same = stored.find((one) => one.signedHash === signedHash);
  const older = stored.filter((one) => same === undefined || one.place < same.place);
  const isFork = older.some((one) => one.epoch === epoch);
  if (same !== undefined) {
    const repeated = { outcome: 'repeated', hash: same.statementHash } as const;
    return { place: null, answer: isFork ? { outcome: 'conflict' } : repeated };
  }
  if (stored.length >= limits.statementsPerNumber) {
    return { place: null, answer: { outcome: 'full' } };
  }
  return {
    place: stored.length + 1,
    answer: isFork ? { outcome: 'conflict' } : { outcome: 'stored', hash: statementHash },
  };
}
