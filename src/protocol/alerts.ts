// Schemas of alerts and their rules.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

/** What rules watch, by kind: the condition, with the threshold as N. Add new kinds here. */
export const alertKinds = {
  robot_offline: 'a robot that was seen before has not been seen for N minutes',
  battery_low: 'the newest battery reading of a robot is below N percent',
  error_event: 'a robot reported an event of severity error in the last N minutes',
  anchor_failed: 'an anchor of a robot failed in the last N minutes',
  anchor_stuck: 'an anchor of a robot has waited for its block for N minutes',
  credit_low:
    'the credits cover fewer than N anchors. Without a rule, this alert opens when the service refuses a completion for lack of credit',
  webhook_disabled:
    'a webhook was disabled after failures, or because too many messages waited. This alert opens without a rule, and a rule has no effect on it',
} as const;

export const AlertKind = OneOf(
  Object.keys(alertKinds) as (keyof typeof alertKinds)[],
  Object.entries(alertKinds)
    .map(([kind, condition]) => `${kind}: ${condition}`)
    .join('. '),
);
export type AlertKind = Static<typeof AlertKind>;

export const AlertRule = Closed({
  kind: AlertKind,
  threshold: Type.Integer({ minimum: 1, maximum: 10_080, description: 'N; see kind' }),
});
export type AlertRule = Static<typeof AlertRule>;

export const Alert = Closed({
  id: Uuid,
  ...AlertRule.properties,
  robot_id: Nullable(Uuid),
  opened_at: Timestamp,
  acknowledged_at: Nullable(Timestamp),
  closed_at: Nullable(Timestamp),
});
export type Alert = Static<typeof Alert>;
