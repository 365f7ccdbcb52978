// Turns errors into responses of the error table, and logs unexpected ones.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import { type ErrorCode, errors, isErrorCode } from '../../../protocol/errors.ts';
import { routesAt } from '../../../protocol/routes.ts';
import { schemaError } from '../../../protocol/schema-error.ts';
import { wireError } from '../../ports/errors.ts';

/** Default seconds for `Retry-After`, if the error has no value of its own. */
const retryAfter: Partial<Record<ErrorCode, number>> = {
  rate_limited: 1,
  chain_unavailable: 5,
  overloaded: 5,
  storage_quota: 60,
  storage_unavailable: 5,
};

/** Fastify's own errors, as errors of the table. */
const frameworkErrors: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The body must be application/json in UTF-8.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'This endpoint does not exist.'],
};

/** Errors of the file server, by their status. A path outside of its folder must not look like an existing file. */
const fileErrors: Readonly<Record<number, [ErrorCode, string]>> = {
  400: ['invalid_request', 'The path is not the name of a file.'],
  403: ['not_found', 'This file does not exist.'],
  412: ['precondition_failed', 'The file does not meet If-Match or If-Unmodified-Since.'],
  416: ['invalid_range', 'The Range begins after the end of the file.'],
};

/** Sends the response for an error. This is the only place that does so. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answered = answeredError(error, request);
  const seconds = secondsUntilRetry(answered);
  if (seconds !== undefined) reply.header('retry-after', String(seconds));
  // The headers of a stream that failed before its first byte are still set.
  reply.removeHeader('content-encoding').type('application/json; charset=utf-8');
  reply.status(errors[answered.code].status).send(errorBody(answered));
}

/** The answer to an item of a batch that failed. */
export function itemError(error: unknown, request: FastifyRequest) {
  const answered = answeredError(error, request);
  const seconds = secondsUntilRetry(answered);
  return {
    status: errors[answered.code].status,
    body: errorBody(answered),
    ...(seconds !== undefined && { retry_after_ms: seconds * 1000 }),
  };
}

function secondsUntilRetry({ code, details }: SvcError<ErrorCode>): number | undefined {
  return (details.retry_after as number | undefined) ?? retryAfter[code];
}

/** The error for the caller. This is the only place that logs errors. */
function answeredError(error: unknown, request: FastifyRequest): SvcError<ErrorCode> {
  const known = knownError(error, request);
  if (known === null) request.log.error({ err: error }, 'unexpected error');
  const answered =
    known ??
    wireError(
      'internal_error',
      `Unexpected error. Give the operator the request id ${request.id}.`,
    );
  if (answered.code === 'storage_unavailable') {
    request.log.warn({ reason: reasonOf(answered) }, 'storage unavailable');
  }
  return answered;
}

export function errorBody({ code, message, details }: SvcError): Record<string, unknown> {
  return { error: code, message, ...details };
}

/** The reason in one line, without a stack: while the database is down, every request logs it. */
function reasonOf({ message, cause }: SvcError): string {
  if (!(cause instanceof Error)) return message;
  // node-postgres leaves the message empty if it tried several addresses.
  return `${message} ${cause.message || (cause as NodeJS.ErrnoException).code}`;
}

/** The error for the caller; null for a bug, whose text must not leave the process. */
function knownError(error: unknown, request: FastifyRequest): SvcError<ErrorCode> | null {
  if (error instanceof SvcError) {
    return isErrorCode(error.code) ? (error as SvcError<ErrorCode>) : null;
  }
  if (typeof error !== 'object' || error === null) return null;
  const invalid = schemaError(error, request.routeOptions.config?.route);
  if (invalid !== null) return wireError(invalid.code, invalid.message);
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'FST_ERR_BAD_URL') return badUrl(request);
  const ofFile =
    request.routeOptions.config?.page && 'statusCode' in error
      ? fileErrors[Number(error.statusCode)]
      : undefined;
  const [wireCode, message] =
    ofFile ?? (Object.hasOwn(frameworkErrors, code) ? (frameworkErrors[code] ?? []) : []);
  return wireCode && message ? wireError(wireCode, message) : null;
}

/** An undecodable path gets the code of the route's only path parameter, if there is a route with one. */
function badUrl({ url }: FastifyRequest): SvcError<ErrorCode> {
  const [route] = routesAt(url);
  const [ofField = 'not_found'] = Object.values(route?.fieldErrors ?? {});
  const code = route === undefined ? 'invalid_request' : ofField;
  return wireError(code, 'The path is not valid percent-encoded UTF-8.');
}
