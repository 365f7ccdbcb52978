// Schemas of alerts and their rules.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Text, Timestamp, Uuid } from './fields.ts';
import { limits } from './limits.ts';

/** What rules watch, by kind: the condition, with the threshold as N. Add new kinds here. */
export const alertKinds = {
  robot_offline: 'a robot that was seen before has not been seen for N minutes',
  battery_low: 'the newest battery reading of a robot is below N percent',
  robot_state: 'a robot has been in one of the `states` of the rule for N minutes',
  error_event:
    'a robot reported an event of severity error in the last N minutes. This alert stays open until it is acknowledged',
  anchor_failed: 'an anchor of a robot failed in the last N minutes',
  anchor_stuck:
    'a robot submitted evidence more than N minutes ago, and its anchor is in no block yet',
  credit_low:
    'the credits of the account cover fewer than N anchors. Without a rule, this alert opens when the service refuses a completion for lack of credit',
  webhook_disabled:
    'the service disabled a webhook after failures, or because too many messages waited. This alert needs no rule, and a rule does not change it',
} as const;

export const AlertKind = OneOf(
  Object.keys(alertKinds) as (keyof typeof alertKinds)[],
  Object.entries(alertKinds)
    .map(([kind, condition]) => `${kind}: ${condition}`)
    .join('. '),
);
export type AlertKind = Static<typeof AlertKind>;

const watched = {
  kind: AlertKind,
  threshold: Type.Integer({
    minimum: 1,
    maximum: 10_080,
    description: 'the N of `kind`; at most 100 for `battery_low`',
  }),
};

export const AlertRule = Closed({
  ...watched,
  states: Type.Optional(
    Type.Array(Text(limits.stateLength), {
      minItems: 1,
      maxItems: limits.alertStates,
      uniqueItems: true,
      description: "of `robot_state` only; `['error']` if a request leaves it out",
      examples: [['error']],
    }),
  ),
});
export type AlertRule = Static<typeof AlertRule>;

export const Alert = Closed({
  id: Uuid,
  ...watched,
  robot_id: Nullable(Uuid),
  opened_at: Timestamp,
  acknowledged_at: Nullable(Timestamp),
  closed_at: Nullable(Timestamp),
});
export type Alert = Static<typeof Alert>;
