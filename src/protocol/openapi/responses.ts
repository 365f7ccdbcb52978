// The responses of an operation of the OpenAPI document.
import { type ErrorCode, errors } from '../errors.ts';
import type { Route } from '../route.ts';
import { errorsOf } from './errors-of.ts';
import { exampleOf } from './example.ts';
import { type Names, plain, withRefs } from './references.ts';

/** Every response of the route by status; errors with the same status share one. */
export function responsesOf(route: Route, named: Names) {
  const good = Object.entries(route.responses).map(([status, schema]) => {
    const content = { schema: withRefs(plain(schema), named), example: exampleOf(plain(schema)) };
    const response = {
      description: status === '202' ? errors.anchor_unconfirmed.summary : 'Success',
      headers: headersOf([]),
      content: { [route.stream ?? 'application/json']: content },
    };
    return [status, response] as const;
  });
  const codes = errorsOf(route);
  const bad = [...new Set(codes.map((code) => errors[code].status))].map((status) => {
    const ofStatus = codes.filter((code) => errors[code].status === status);
    return [status, errorResponse(ofStatus)] as const;
  });
  return { ...Object.fromEntries(good), ...Object.fromEntries(bad) };
}

function errorResponse(codes: ErrorCode[]) {
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code].summary}`).join('; '),
    headers: headersOf(codes),
    content: {
      'application/json': {
        schema: {
          $ref: '#/components/schemas/Error',
          type: 'object',
          properties: { error: { enum: codes } },
        },
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: errors[code].summary, value: errorExample(code) }]),
        ),
      },
    },
  };
}

export function errorExample(code: ErrorCode): Record<string, unknown> {
  return {
    error: code,
    message: `${errors[code].summary.charAt(0).toUpperCase()}${errors[code].summary.slice(1)}.`,
    ...(code === 'rate_limited' && { retry_after: 17 }),
  };
}

export const headers = {
  'X-RateLimit-Limit': {
    description: 'Maximum number of requests in the one-minute window',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the window',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Reset': {
    description: 'Seconds until the window ends',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Request-Id': {
    description: 'The id sent with the request, or a new one; also in the log',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } },
};

const mayBeRepeated: readonly ErrorCode[] = [
  'rate_limited',
  'chain_unavailable',
  'storage_unavailable',
];

function headersOf(codes: readonly ErrorCode[]): Record<string, unknown> {
  const { 'Retry-After': _, ...always } = headers;
  const names = Object.keys(codes.some((code) => mayBeRepeated.includes(code)) ? headers : always);
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
