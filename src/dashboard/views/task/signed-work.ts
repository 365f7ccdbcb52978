// Reads what the robot signed about a task, from the bundle of the task, and checks it in this browser.
import { readBundle } from '../../../proof/bundle.ts';
import type { JsonValue } from '../../../proof/json-value.ts';
import { auditSigning } from '../../../proof/statements/audit-signing.ts';
import { readStatement } from '../../../proof/statements/statement.ts';
import { ask } from '../../api.ts';

/** Null for a bundle without signatures. */
export async function readSignedWork(id: string, signal: AbortSignal) {
  const document = await ask('GET /api/v1/tasks/:id/bundle', { params: { id }, signal });
  const bundle = readBundle(document as JsonValue);
  const report = await auditSigning(bundle);
  if (bundle.signing === undefined || report === null) return null;
  const { claim, result } = bundle.signing;
  const timeOf = (text: string) => Date.parse(readStatement(text).statement.time);
  const times = { claim: claim && timeOf(claim.statement), result: timeOf(result.statement) };
  return { report, times };
}
