// Routes of telemetry, events and statistics.
import { Type } from 'typebox';
import { CallerTimestamp, Closed, RoundedObject, Text, Uuid } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, PeriodQuery, page, SealedCursor } from '../paging.ts';
import { accountRead, accountReadById, type Route, robotChange } from '../route.ts';
import {
  EventType,
  NewSamples,
  OpsEvent,
  Report,
  Resolution,
  Sample,
  Series,
  Severity,
  Stats,
} from '../telemetry.ts';

const { limit: Limit } = PageQuery;

export const telemetryRoutes = {
  recordSamples: {
    ...robotChange,
    path: '/api/v1/telemetry',
    summary: 'Record one telemetry sample, or up to 50 in `samples`. Samples are not anchored',
    body: NewSamples,
    example: { battery_pct: 81.5, state: 'busy', metrics: { speed_mps: 0.42 } },
    maxValues: limits.samplesValues,
    roundsNumbers: true,
    fieldErrors: { '*': 'invalid_sample' },
    countErrors: { samples: 'batch_too_large' },
    responses: {
      201: Closed({ accepted: Type.Integer({ minimum: 1 }), samples: Type.Array(Sample) }),
    },
    errors: ['invalid_sample', 'batch_too_large', 'id_conflict', 'storage_quota'],
  },
  createEvent: {
    ...robotChange,
    path: '/api/v1/events',
    summary: 'Record an event. Events are not anchored',
    body: Closed({
      id: Type.Optional(Uuid),
      event_type: EventType,
      severity: Type.Optional(Severity),
      message: Type.Optional(Text(limits.eventMessageLength)),
      payload: Type.Optional(RoundedObject),
      occurred_at: Type.Optional(CallerTimestamp),
    }),
    document: { field: 'payload', maxBytes: limits.payloadBytes },
    roundsNumbers: true,
    fieldErrors: { event_type: 'invalid_event_type', severity: 'invalid_severity' },
    responses: { 201: Closed({ event: OpsEvent }) },
    errors: ['id_conflict', 'storage_quota'],
  },
  readTelemetry: {
    ...accountReadById,
    path: '/api/v1/robots/:id/telemetry',
    summary:
      "Read a robot's samples of a time range, in pages, newest first. With `resolution`, read a time series instead: the samples combined by minute, hour or day. The longest time range is 6 hours by minute, 31 days by hour and 366 days by day",
    query: Closed({
      ...PeriodQuery,
      resolution: Type.Optional(Resolution),
      limit: Limit,
      cursor: Type.Optional(
        Type.String({
          pattern: '^-?\\d{1,15}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
          description: 'the next_cursor of the previous page',
        }),
      ),
    }),
    responses: { 200: Type.Union([page(Sample), Series]) },
    longAnswer: true,
    errors: ['not_found', 'overloaded'],
  },
  listEvents: {
    ...accountRead,
    path: '/api/v1/events',
    summary:
      "List the account's events, newest received first. `from` and `to` select by `occurred_at`, or by `created_at` if that is earlier or alone",
    query: Closed({
      ...PeriodQuery,
      severity: Type.Optional(Severity),
      robot_id: Type.Optional(Uuid),
      fleet_id: Type.Optional(Uuid),
      event_type: Type.Optional(EventType),
      limit: Limit,
      cursor: Type.Optional(SealedCursor),
    }),
    responses: { 200: page(OpsEvent) },
    errors: ['not_found'],
  },
  getStats: {
    ...accountRead,
    path: '/api/v1/stats',
    summary: 'Read statistics of the account, or of one of its fleets',
    query: Closed({ fleet_id: Type.Optional(Uuid) }),
    responses: { 200: Stats },
    errors: ['not_found'],
  },
  getReport: {
    ...accountRead,
    path: '/api/v1/report',
    summary: 'Read what the robots of the account, or of one of its fleets, did in a period',
    description:
      'The period has at most 31 days; without `from`, it has 7. Events count by `occurred_at`, or by `created_at` if that is earlier or alone. Robots count in the fleet that they are in now; deleted robots and their tasks count only in the cost of the account. With `Accept: text/csv`, the response is one CSV table with a row for each number.',
    query: Closed({ ...PeriodQuery, fleet_id: Type.Optional(Uuid) }),
    responses: { 200: Report },
    longAnswer: true,
    errors: ['not_found', 'overloaded'],
  },
} as const satisfies Record<string, Route>;
