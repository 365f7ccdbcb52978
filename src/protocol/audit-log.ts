// Schema of the audit log: who did what to an account, from where and when.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

/** What is recorded, by kind: the meaning of `target_id` and `detail`. Add new kinds here. */
export const auditKinds = {
  sign_in: 'the new session, and how it was opened',
  sign_in_failed: 'no target; one entry per hour, with the number of failures',
  sign_out: 'the session',
  session_revoked: 'the session',
  token_created: 'the token, its name and scope',
  token_revoked: 'the token, its name and scope',
  webhook_created: 'the webhook and its URL',
  webhook_changed: 'the webhook and its URL',
  webhook_secret_rotated: 'the webhook and its URL',
  webhook_deleted: 'the webhook and its URL',
  robot_created: 'the robot and its name',
  robot_deleted: 'the robot and its name',
  key_rotated: 'the robot and its name',
  key_revoked: 'the robot and its name',
  fleet_deleted: 'the fleet and its name',
  evidence_erased: 'the task',
  credits_granted: 'no target; the granted credits and the note',
  account_suspended: 'no target; the reason that the operator gave',
  account_resumed: 'no target; the reason that the operator gave',
  anchor_reconciled:
    'no target; the nonce of an anchor of the account, and the transaction that used it',
} as const;

export type AuditKind = keyof typeof auditKinds;

export const AuditEntry = Closed({
  id: Uuid,
  kind: OneOf(Object.keys(auditKinds) as AuditKind[]),
  actor: OneOf(
    ['session', 'token', 'operator', 'unknown'],
    'who acted; unknown for failed sign-ins',
  ),
  actor_name: Nullable(
    Type.String({ description: 'name of the token, or command of the operator' }),
  ),
  source: Nullable(Type.String({ description: 'IP address of the caller' })),
  target_id: Nullable(Uuid),
  detail: Nullable(Type.String()),
  count: Type.Integer({ minimum: 1, description: 'number of failures; 1 for all other kinds' }),
  created_at: Type.String({
    ...Timestamp,
    description: 'for failed sign-ins, the start of the hour',
  }),
});
export type AuditEntry = Static<typeof AuditEntry>;
