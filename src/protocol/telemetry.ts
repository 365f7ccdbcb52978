// Schemas of samples, events, series and statistics.
import { type Static, Type } from 'typebox';
import {
  CallerTimestamp,
  Closed,
  Decimal,
  JsonObject,
  Nullable,
  OneOf,
  RoundedObject,
  Text,
  Timestamp,
  Uuid,
  VisibleText,
} from './fields.ts';
import { limits } from './limits.ts';
import { TaskOutcome, TaskStatus } from './resources.ts';

const BatteryPct = Type.Union([Type.Number({ minimum: 0, maximum: 100 }), Type.Null()], {
  description: '0 to 100, or null',
});

const State = Type.Union([Text(limits.stateLength), Type.Null()], {
  description: `at most ${limits.stateLength} characters without U+0000, or null`,
});

/** A telemetry sample in a response (docs/http-api.md). */
export const Sample = Closed({
  id: Uuid,
  recorded_at: Timestamp,
  battery_pct: BatteryPct,
  state: State,
  metrics: JsonObject,
});

/** A telemetry sample in a request. `recorded_at` is required if `id` is given. */
export const NewSample = Closed({
  id: Type.Optional(Uuid),
  battery_pct: Type.Optional(BatteryPct),
  state: Type.Optional(State),
  metrics: Type.Optional(RoundedObject),
  recorded_at: Type.Optional(CallerTimestamp),
});

/** The body of a telemetry request: one sample, or several in `samples`. */
export const NewSamples = Closed({
  ...NewSample.properties,
  samples: Type.Optional(
    Type.Array(NewSample, {
      minItems: 1,
      maxItems: limits.samplesPerRequest,
      description: `the whole body has at most ${limits.samplesValues} JSON values, counting objects and arrays`,
    }),
  ),
});

export const Severity = OneOf(['info', 'warn', 'error'], 'info, warn or error');

export const EventType = VisibleText(limits.eventTypeLength);

/** An ops event (docs/http-api.md). */
export const OpsEvent = Closed({
  id: Uuid,
  robot_id: Uuid,
  event_type: EventType,
  severity: Severity,
  message: Text(limits.eventMessageLength),
  payload: JsonObject,
  occurred_at: Nullable(Type.String()),
  created_at: Timestamp,
});

export const Resolution = OneOf(['minute', 'hour', 'day'], 'minute, hour or day');

/** Aggregate of one number over the samples of an interval. */
const Spread = Closed({ min: Type.Number(), avg: Type.Number(), max: Type.Number() });

/**
 * The samples of the interval that begins at `at`. `battery_pct` is null if no sample has it.
 * `states` counts samples by state, and `metrics` aggregates the numbers at the top level of `metrics` by name:
 * the states and names that arrived first, up to a limit each (`limits`). `samples` counts all samples.
 */
export const SeriesPoint = Closed({
  at: Timestamp,
  samples: Type.Integer({ minimum: 1 }),
  battery_pct: Nullable(Spread),
  states: Type.Record(Type.String(), Type.Integer({ minimum: 1 })),
  metrics: Type.Record(Type.String(), Spread),
});

/** Intervals with samples, oldest first: every interval that overlaps `from` to `to`. */
export const Series = Closed({
  resolution: Resolution,
  from: Timestamp,
  to: Timestamp,
  points: Type.Array(SeriesPoint),
});

const Count = Type.Integer({ minimum: 0 });

/**
 * Statistics of an account or one of its fleets. Robots and tasks are the current ones. Days and hours (UTC, oldest
 * first, the current one last) count toward the fleet that the robot was in at the time.
 */
export const Stats = Closed({
  robots: Closed({
    total: Count,
    online: Type.Integer({ minimum: 0, description: 'robots seen within the last 5 minutes' }),
    by_state: Type.Record(Type.String(), Count, {
      description: 'online robots by their last state; offline: robots not seen in 5 minutes',
    }),
    without_state: Count,
  }),
  battery: Closed({
    buckets: Type.Array(Count, {
      minItems: 10,
      maxItems: 10,
      description: 'number of robots by last battery_pct: below 10, below 20, … 90 to 100',
    }),
    unknown: Count,
  }),
  tasks: Closed({ claimed: Count, verified: Count }),
  anchors_by_day: Type.Array(
    Closed({
      day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
      anchors: Count,
      gas_wei: Decimal,
    }),
    { description: 'last 30 days' },
  ),
  events_by_hour: Type.Array(Closed({ at: Timestamp, info: Count, warn: Count, error: Count }), {
    description: 'last 24 hours, by `occurred_at`, or by `created_at` if that is earlier or alone',
  }),
  samples_by_hour: Type.Array(Closed({ at: Timestamp, samples: Count }), {
    description: 'last 24 hours, by recorded_at',
  }),
});

/**
 * What the robots of an account or one of its fleets did in a period, extended to whole hours (UTC). An hour with a
 * sample counts as reported. `state_hours` divides a robot's reported hours by the states of its samples: the states with
 * the most hours, up to a limit. Other samples state none of them, so the sum can be less than `reported_hours`.
 */
export const Report = Closed({
  from: Timestamp,
  to: Timestamp,
  hours: Type.Integer({ minimum: 1, description: 'length of the period' }),
  robots: Type.Array(
    Closed({
      robot_id: Uuid,
      name: Type.String(),
      fleet_id: Nullable(Uuid),
      reported_hours: Count,
      state_hours: Type.Record(Type.String(), Type.Number({ minimum: 0 })),
    }),
  ),
  errors: Closed({
    total: Count,
    by_type: Type.Array(Closed({ event_type: EventType, events: Count }), {
      maxItems: limits.reportEventTypes,
      description: 'events of severity error by type, most frequent first',
    }),
  }),
  tasks: Type.Array(Closed({ status: TaskStatus, outcome: Nullable(TaskOutcome), tasks: Count }), {
    description: 'tasks claimed in the period',
  }),
  cost: Closed({
    anchors: Type.Integer({ minimum: 0, description: 'anchors settled in the period' }),
    gas_wei: Decimal,
    gas_wei_per_anchor: Nullable(Decimal),
  }),
});

export type Sample = Static<typeof Sample>;
export type NewSample = Static<typeof NewSample>;
export type Severity = Static<typeof Severity>;
export type OpsEvent = Static<typeof OpsEvent>;
export type Resolution = Static<typeof Resolution>;
export type SeriesPoint = Static<typeof SeriesPoint>;
export type Series = Static<typeof Series>;
export type Stats = Static<typeof Stats>;
export type Report = Static<typeof Report>;
