// The audit log of an account, and who acts in it.
import type { Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Actor } from '../ports/audit-log.ts';
import type { Deps } from './deps.ts';
import { pageById } from './paging.ts';

/** The operator, by a command of `svc-server`. */
export function operator(command: string): Actor {
  const name = `svc-server ${command}`;
  return { actor: 'operator', actor_name: name, source: null, at: Date.now() };
}

/** One page of the account's audit log, newest first. */
export function listAuditLog({ store }: Deps, wallet: string, query: Query<'listAuditLog'>) {
  return pageById(
    query,
    (...page) => store.listAuditLog(wallet, ...page),
    ({ at, ...entry }) => ({ ...entry, created_at: formatTimestamp(at) }),
  );
}
