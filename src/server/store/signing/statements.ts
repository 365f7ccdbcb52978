// Stores statements of robots, and keeps forks as evidence.

import type {
  NewStatement,
  StatementOutcome,
  StatementRecord,
  StatementStore,
} from '../../ports/statements.ts';
import { isAfter, isTooHigh, placeOf, type SameNumber } from '../../rules/statements.ts';
import { rowBytes } from '../../rules/storage.ts';
import { addFreeLeaf } from '../anchoring/free-leaves.ts';
import type { Db, Tx } from '../db/database.ts';
import { page, sql } from '../db/sql.ts';
import { lockRobot } from '../robots.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideFor } from '../tasks.ts';
import { findKey } from './identity.ts';

/** The robot of a call, and the options of `addStatements`. */
interface Addition {
  robotId: string;
  wallet: string;
  keyHash: string;
  hasRoom: boolean;
  now: number;
}

export function statementStore({ all, write }: Db, usage: StorageUsage): StatementStore {
  return {
    async addStatements({ id: robotId, wallet, keyHash }, statements, { hasRoom, now }) {
      const added = await write(async (tx) => {
        // Locked, so that the statements of a robot get their places one after the other.
        if ((await lockRobot(tx, robotId, keyHash)) === null) return null;
        const addition = { robotId, wallet, keyHash, hasRoom, now };
        const answers: Added[] = [];
        for (const statement of statements) answers.push(await add(tx, statement, addition));
        return answers;
      });
      if (added === null) return null;
      usage.add(
        wallet,
        added.reduce((sum, one) => sum + one.bytes, 0),
      );
      return added.map(({ answer }) => answer);
    },

    listStatements: (robotId, kid, limit, after) =>
      all<StatementRecord>(
        page(sql`SELECT number, place, signed_hash AS "signedHash",
          statement_hash AS "statementHash", statement AS text, received_at AS "receivedAt"
        FROM statements WHERE kid = ${kid} AND robot_id = ${robotId}
          AND (number, place) > (${after?.number ?? 0}, ${after?.place ?? 0})
        ORDER BY number, place LIMIT ${limit}`),
      ),
  };
}

/** `bytes`: what the account stores now in addition. */
interface Added {
  answer: StatementOutcome;
  bytes: number;
}

async function add(tx: Tx, statement: NewStatement, addition: Addition): Promise<Added> {
  const { kid, number, type, epoch, signedHash, statementHash, text, taskId } = statement;
  const { robotId, wallet, hasRoom, now } = addition;
  const none = (answer: StatementOutcome) => ({ answer, bytes: 0 });
  const stored = await tx.all<SameNumber>(sql`SELECT place, epoch, signed_hash AS "signedHash",
      statement_hash AS "statementHash"
    FROM statements WHERE kid = ${kid} AND number = ${number} ORDER BY place`);
  const { place, answer } = placeOf(stored, statement);
  if (place === null) return none(answer);
  const key = await findKey(tx, robotId, kid);
  if (key === null || isAfter(number, key)) return none({ outcome: 'key_ended' });
  const newest = await tx.get<{ highest: number | null }>(
    sql`SELECT max(number) AS highest FROM statements WHERE kid = ${kid}`,
  );
  if (isTooHigh(number, newest?.highest ?? key.firstNumber - 1))
    return none({ outcome: 'too_high' });
  if (!hasRoom && !(await isPaid(tx, statement, addition))) return none({ outcome: 'no_room' });
  await tx.run(sql`INSERT INTO statements (kid, number, place, robot_id, type, epoch, signed_hash,
      statement_hash, statement, task_id, received_at)
    VALUES (${kid}, ${number}, ${place}, ${robotId}, ${type}, ${epoch}, ${signedHash},
      ${statementHash}, ${text}, ${taskId}, ${now})`);
  if (type === 'claim') {
    await addFreeLeaf(tx, { wallet, kind: 'claim', hash: statementHash, now });
  }
  return { answer, bytes: rowBytes(text) };
}

/** Whether a result whose completion reserves credit follows: work that was paid for is not lost. */
async function isPaid(
  tx: Tx,
  { type, taskId, statementHash }: NewStatement,
  { robotId, keyHash }: Addition,
): Promise<boolean> {
  if (type !== 'result') return false;
  const { decision } = await decideFor(tx, { robotId, keyHash, taskId, statementHash });
  return decision.outcome === 'queued';
}
