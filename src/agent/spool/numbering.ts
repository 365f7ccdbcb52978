// Builds the statements about claims and completions, in the commit that accepts them. Every function runs inside the
// caller's transaction.
import { orNull } from '../../base/or-null.ts';
import {
  contentHash,
  type Statement,
  statementText,
  type TaskContent,
} from '../../proof/statements/statement.ts';
import type { Body } from '../../protocol/routes.ts';
import { formatTimestamp, utcOf } from '../../protocol/timestamp.ts';
import type { AgentClock } from '../clock.ts';
import { timestampOf } from './clock-correction.ts';
import type { StoredStatement } from './statements.ts';
import type { RecordTables } from './tables.ts';
import type { Claim, Completion } from './tasks.ts';

type Content = Omit<TaskContent, 'occurred_at'> & Pick<Body<'createTask'>, 'occurred_at'>;

/** The statement about exactly this record by the key in use; null without one. */
export function statementAbout(
  tables: RecordTables,
  record: Claim | Completion,
): StoredStatement | null {
  const [found] = tables.statements.about(record.id, typeOf(record));
  if (found?.kid !== tables.statements.key()?.kid) return null;
  return found && isAbout(found, record, tables) ? found : null;
}

/**
 * Gives the record a number, unless it has one, and stores the text to sign with it: a number is used once. `given`: the
 * content of a task whose claim is not in the spool. False without a key in use, or if the content is not known.
 */
export function numberRecord(
  tables: RecordTables,
  record: Claim | Completion,
  clock: AgentClock,
  given?: TaskContent,
): boolean {
  const { statements, state } = tables;
  const key = statements.key();
  const robotId = state.robotId();
  if (key === null || robotId === null) return false;
  if (statementAbout(tables, record) !== null) return true;
  const known = claimOf(tables, record.id);
  const content = known?.content ?? given;
  // A stored record that is not of the documented form has no hash. Its upload sets it aside.
  const hash = content && orNull(() => contentHash(content), [TypeError]);
  if (!hash) return false;
  const now = clock.now();
  const last = statements.last(key);
  const common = {
    robot_id: robotId,
    task_id: record.id,
    epoch: statements.epoch,
    number: last === null ? key.firstNumber : last.number + 1,
    prev: last?.hash ?? null,
    content_hash: hash,
    time: formatTimestamp(now.wallMs),
    clock_synchronized: clock.isSynchronized(),
  };
  const isResult = 'proofHash' in record;
  const statement: Statement = isResult
    ? { ...common, type: 'result', proof_hash: record.proofHash, outcome: outcomeOf(record) }
    : { ...common, type: 'claim' };
  const occurredAt = isResult ? null : (known?.occurredAt ?? null);
  statements.insert(statementText(key, statement), occurredAt, now);
  return true;
}

/** What the service has, or will have, of a task that this machine claimed; null for another task. */
export function contentOf(tables: RecordTables, taskId: string): TaskContent | null {
  return claimOf(tables, taskId)?.content ?? null;
}

function typeOf(record: Claim | Completion): Statement['type'] {
  return 'proofHash' in record ? 'result' : 'claim';
}

function outcomeOf({ outcome }: Completion) {
  return outcome ?? 'succeeded';
}

function isAbout({ about }: StoredStatement, record: Claim | Completion, tables: RecordTables) {
  const content = contentOf(tables, record.id);
  if (content && orNull(() => contentHash(content), [TypeError]) !== about.content_hash)
    return false;
  if (!('proofHash' in record)) return true;
  return (
    about.type === 'result' &&
    about.proof_hash === record.proofHash &&
    about.outcome === outcomeOf(record)
  );
}

/** Null without a claim in the spool, and for one that is not of the documented form. */
function claimOf(tables: RecordTables, taskId: string) {
  const claim = tables.tasks.claim(taskId);
  return claim && orNull(() => contentOfClaim(tables, claim), [SyntaxError, TypeError]);
}

function contentOfClaim(tables: RecordTables, claim: Claim) {
  const given: Content = JSON.parse(claim.body);
  const at = (occurredAt: string) => ({ ...given, occurred_at: utcOf(occurredAt) });
  const { occurredAtOfService: held } = claim;
  if (held !== undefined) return { content: { ...given, occurred_at: held }, occurredAt: held };
  const [stated] = tables.statements.about(claim.id, 'claim');
  const sent = stated?.occurredAt ?? null;
  if (sent !== null && contentHash(at(sent)) === stated?.about.content_hash) {
    return { content: at(sent), occurredAt: sent };
  }
  const epochMs = tables.state.epochOf(claim.boot);
  const { text: occurredAt } = timestampOf(given.occurred_at, claim, epochMs);
  return { content: at(occurredAt), occurredAt };
}
