// The store's contract for statements of robots.
import type { Hex } from '../../proof/bytes.ts';
import type { RobotCaller } from './robots.ts';

/** A statement whose form, key and signature were checked. */
export interface NewStatement {
  kid: string;
  number: number;
  type: 'claim' | 'result';
  epoch: string;
  signedHash: Hex;
  statementHash: Hex;
  /** The JWS. */
  text: string;
  taskId: string;
}

export interface StatementRecord
  extends Pick<NewStatement, 'number' | 'signedHash' | 'statementHash'> {
  /** 1 for the first statement with this number. */
  place: number;
  /** Null if its task was deleted. */
  text: string | null;
  receivedAt: number;
}

/** Where a list of statements continues: after this number and place. */
export type StatementPlace = Pick<StatementRecord, 'number' | 'place'>;

/** `hash`: of the stored text. A repeated ES256 statement may have another signature, and so another hash. */
export type StatementOutcome =
  | { outcome: 'stored' | 'repeated'; hash: Hex }
  /** Stored, now or before, but an older statement has the same number and epoch. */
  | { outcome: 'conflict' }
  /** Not stored: as many statements with this number are stored as the limit allows. */
  | { outcome: 'full' }
  /** Not stored: the key was replaced or revoked. */
  | { outcome: 'key_ended' }
  /** Not stored: the number is too far above the highest one. */
  | { outcome: 'too_high' }
  /** Not stored: no storage is left, and the completion of the task would be refused. */
  | { outcome: 'no_room' };

export interface StatementStore {
  /**
   * Stores statements of one robot in one commit. `hasRoom`: the account has storage for them; without it, only
   * repetitions succeed, and the statement of a result whose completion can be queued now. Null, storing nothing, if the
   * API key of the call has ended.
   */
  addStatements(
    robot: Pick<RobotCaller, 'id' | 'wallet' | 'keyHash'>,
    statements: readonly NewStatement[],
    options: { hasRoom: boolean; now: number },
  ): Promise<StatementOutcome[] | null>;
  /** The statements of one key in the order of their numbers. */
  listStatements(
    robotId: string,
    kid: string,
    limit: number,
    after: StatementPlace | null,
  ): Promise<StatementRecord[]>;
}
