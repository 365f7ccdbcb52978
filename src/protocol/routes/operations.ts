// Routes of health, readiness and the OpenAPI document.
import { Type } from 'typebox';
import { Closed } from '../fields.ts';
import type { Route } from '../route.ts';

const Readiness = Closed({
  status: Type.Union([Type.Literal('ready'), Type.Literal('degraded')]),
  degraded: Type.Array(Type.String()),
});

export const operationsRoutes = {
  getHealth: {
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the process is up',
    access: 'public',
    limit: 'none',
    responses: { 200: Closed({ status: Type.Literal('up') }) },
    errors: [],
  },
  getReadiness: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the service can take requests; 503 only for the database or a shutdown',
    access: 'public',
    limit: 'none',
    responses: { 200: Readiness },
    errors: ['storage_unavailable'],
  },
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This interface as an OpenAPI 3.1 document',
    access: 'public',
    limit: 'none',
    responses: {
      200: Type.Object({
        openapi: Type.Literal('3.1.0'),
        info: Type.Object({ title: Type.String(), version: Type.String() }),
        paths: Type.Record(Type.String(), Type.Unknown()),
      }),
    },
    errors: [],
  },
} as const satisfies Record<string, Route>;
