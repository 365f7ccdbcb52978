// Routes of health, readiness, the status for an account, and the OpenAPI document.
import { Type } from 'typebox';
import { Address, Closed, Decimal, Nullable, OneOf, Timestamp } from '../fields.ts';
import { accountRead, publicRead, type Route } from '../route.ts';

const Readiness = Closed({
  status: OneOf(['ready', 'degraded']),
  degraded: Type.Array(Type.String()),
  underfunded: Type.Optional(
    Type.Array(
      Closed({
        address: Address,
        balance_wei: Nullable(Decimal),
        needed_wei: Nullable(
          Type.String({ ...Decimal, description: 'balance that the next anchor needs' }),
        ),
      }),
      { description: 'the anchoring accounts whose balance is too low' },
    ),
  ),
});

export const operationsRoutes = {
  getHealth: {
    ...publicRead,
    takesTurn: false,
    path: '/healthz',
    summary: 'Check that the process is running',
    responses: { 200: Closed({ status: Type.Literal('up') }) },
  },
  getReadiness: {
    ...publicRead,
    takesTurn: false,
    path: '/readyz',
    summary:
      'Check that the service can handle requests; the response is 503 if the database is unavailable or the service is stopping',
    responses: { 200: Readiness },
    errors: ['storage_unavailable'],
  },
  getServiceStatus: {
    ...accountRead,
    path: '/api/v1/service-status',
    summary:
      "Read what is degraded, how many of the account's proofs wait for a block, and since when",
    responses: {
      200: Closed({
        degraded: Type.Array(Type.String(), { description: 'the reasons of `/readyz`' }),
        waiting: Closed({
          proofs: Type.Integer({
            minimum: 0,
            description: 'those of the newest 1000 claimed tasks',
          }),
          since: Nullable(Timestamp),
        }),
      }),
    },
  },
  getOpenApi: {
    ...publicRead,
    takesTurn: false,
    path: '/openapi.json',
    summary: 'Read this interface as an OpenAPI 3.1 document',
    cors: true,
    responses: {
      200: Type.Object({
        openapi: Type.Literal('3.1.0'),
        info: Type.Object({ title: Type.String(), version: Type.String() }),
        paths: Type.Record(Type.String(), Type.Unknown()),
      }),
    },
  },
} as const satisfies Record<string, Route>;
