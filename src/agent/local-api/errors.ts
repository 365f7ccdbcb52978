// Turns errors into answers of the local API.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../base/svc-error.ts';
import { routesAt } from '../../protocol/routes.ts';
import { schemaError } from '../../protocol/schema-error.ts';
import { type AgentErrorCode, agentError, isAgentErrorCode, statusOf } from '../errors.ts';
import { notPlainJson } from './call.ts';

/** The only place that answers and logs errors. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = knownError(error, request);
  if (known === null) request.log.error({ err: error }, 'unexpected error');
  if (known?.code === 'spool_full') request.log.warn({ err: error }, 'record refused: spool full');
  const { code, message, details } =
    known ?? agentError('internal_error', 'Internal error. See the log of svc-agent.');
  reply.status(statusOf(code)).send({ error: code, message, ...details });
}

/** Answers requests that Node's parser refuses or that do not arrive completely. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { code, message } = parserError(error.code);
  const body = JSON.stringify({ error: code, message });
  socket.end(
    `HTTP/1.1 ${statusOf(code)} ${STATUS_CODES[statusOf(code)]}\r\nconnection: close\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function parserError(code: string | undefined): SvcError<AgentErrorCode> {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return agentError('headers_too_large', 'The request headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return agentError('request_timeout', 'The request took too long to arrive.');
    default:
      return agentError('invalid_request', 'This is not a well-formed HTTP request.');
  }
}

/** Null for a bug, whose message must not leave the process. */
function knownError(error: unknown, request: FastifyRequest): SvcError<AgentErrorCode> | null {
  if (error instanceof SvcError) {
    return isAgentErrorCode(error.code) ? (error as SvcError<AgentErrorCode>) : null;
  }
  if (typeof error !== 'object' || error === null) return null;
  const invalid = schemaError(error, request.routeOptions.config?.route);
  if (invalid !== null) return agentError(invalid.code, invalid.message);
  switch ('code' in error ? error.code : '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return agentError(
        'payload_too_large',
        `The body must have at most ${request.routeOptions.bodyLimit} bytes here.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return notPlainJson();
    case 'FST_ERR_BAD_URL': {
      const code = routesAt(request.url).length > 0 ? 'not_found' : 'invalid_request';
      return agentError(code, 'The path is not valid percent-encoded UTF-8.');
    }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return agentError('invalid_request', 'This is not a well-formed request.');
    default:
      return null;
  }
}
