// Schema of the audit log: who did what to an account, from where and when.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

/** What is recorded, by kind: the object whose id is `target_id`, and the content of `detail`; null: always null. */
export const auditKinds = {
  sign_in: ['the new session', 'how the session was opened'],
  sign_in_failed: [null, null],
  sign_out: ['the session', null],
  session_revoked: ['the session', null],
  token_created: ['the token', 'its name'],
  token_revoked: ['the token', 'its name'],
  webhook_created: ['the webhook', 'the origin of its URL'],
  webhook_changed: ['the webhook', 'the origin of its URL'],
  webhook_secret_rotated: ['the webhook', 'the origin of its URL'],
  webhook_deleted: ['the webhook', 'the origin of its URL'],
  robot_created: ['the robot', 'its name'],
  robot_changed: [
    'the robot',
    'its name after the change. patchRobot also writes this entry when it moves the robot to another fleet',
  ],
  robots_moved: [
    'the fleet that the robots were moved to; null if they were removed from their fleets',
    'the number of robots',
  ],
  robot_deleted: ['the robot', 'its name'],
  key_rotated: ['the robot', 'its name'],
  key_revoked: ['the robot', 'its name'],
  signing_key_granted: ['the robot', 'the `kid` of the key'],
  signing_key_revoked: ['the robot', 'the `kid` of the key'],
  fleet_created: ['the fleet', 'its name'],
  fleet_changed: ['the fleet', 'its name after the change'],
  fleet_deleted: ['the fleet', 'its name'],
  alert_rule_changed: [null, 'the kind of the rule and its threshold'],
  alert_rule_deleted: [null, 'the kind of the rule'],
  evidence_erased: ['the task', null],
  credits_granted: [null, 'the granted credits and the note'],
  credits_revoked: [null, 'the revoked credits and the note'],
  account_suspended: [null, 'the reason that the operator gave'],
  account_resumed: [null, 'the reason that the operator gave'],
  account_exported: [null, null],
  account_deletion_began: [null, null],
  clock_confirmed: [
    null,
    'the time that the operator confirmed. Sessions and retention periods are measured by it',
  ],
  anchor_reconciled: [
    null,
    "nonce and sender of an anchor of the account's proofs, and the hash of the other transaction with this nonce",
  ],
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
