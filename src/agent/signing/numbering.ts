// Builds the statements about claims and completions, in the commit that accepts them.
import { orNull } from '../../base/or-null.ts';
import {
  contentHash,
  type Statement,
  statementText,
  type TaskContent,
} from '../../proof/statements/statement.ts';
import type { Body } from '../../protocol/routes.ts';
import { formatTimestamp, utcOf } from '../../protocol/timestamp.ts';
import type { Numbering, RecordTables } from '../spool/spool.ts';
import type { StoredStatement } from '../spool/statements.ts';
import type { Claim, Completion } from '../spool/tasks.ts';
import { timestampOf } from '../uploads/clock-correction.ts';

type Content = Omit<TaskContent, 'occurred_at'> & Pick<Body<'createTask'>, 'occurred_at'>;

/** A number is used once: the commit that stores it also stores the text to sign. */
export const numbering: Numbering = {
  find(tables, record) {
    const [found] = tables.statements.about(record.id, typeOf(record));
    if (found?.kid !== tables.statements.key()?.kid) return null;
    return found && isAbout(found, record, tables) ? found : null;
  },

  number(tables, record, clock, given) {
    const { statements, state } = tables;
    const key = statements.key();
    const robotId = state.robotId();
    if (key === null || robotId === null) return false;
    if (numbering.find(tables, record) !== null) return true;
    const known = contentOf(tables, record.id);
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
    const statement: Statement =
      'proofHash' in record
        ? {
            ...common,
            type: 'result',
            proof_hash: record.proofHash,
            outcome: record.outcome ?? 'succeeded',
          }
        : { ...common, type: 'claim' };
    const occurredAt = 'proofHash' in record ? null : (known?.occurredAt ?? null);
    statements.insert(statementText(key, statement), occurredAt, now);
    return true;
  },

  contentOf: (tables, taskId) => contentOf(tables, taskId)?.content ?? null,
};

function typeOf(record: Claim | Completion): Statement['type'] {
  return 'proofHash' in record ? 'result' : 'claim';
}

function isAbout({ about }: StoredStatement, record: Claim | Completion, tables: RecordTables) {
  const content = contentOf(tables, record.id)?.content;
  if (content && orNull(() => contentHash(content), [TypeError]) !== about.content_hash)
    return false;
  if (!('proofHash' in record)) return true;
  return (
    about.type === 'result' &&
    about.proof_hash === record.proofHash &&
    about.outcome === (record.outcome ?? 'succeeded')
  );
}

/**
 * What the service has, or will have, of a task that this machine claimed. Null for another task, and for a stored claim
 * that is not of the documented form.
 */
function contentOf(tables: RecordTables, taskId: string) {
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
