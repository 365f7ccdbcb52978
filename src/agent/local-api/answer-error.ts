import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../base/svc-error.ts';
import { type SchemaError, schemaFault } from '../../protocol/schema-fault.ts';
import { type AgentErrorCode, fault, isAgentErrorCode, statusOf } from '../fault.ts';

/** The one place where an error becomes an answer, and where it is logged. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = knownFault(error, request);
  if (known === null) request.log.error({ err: error }, 'unexpected error');
  if (known?.code === 'spool_full') request.log.warn({ err: error }, 'spool full');
  const { code, message, details } =
    known ?? fault('internal_error', 'Something went wrong; the log of svc-agent says what.');
  reply.status(statusOf(code)).send({ error: code, message, ...details });
}

/** Null for a bug: its text stays here. */
function knownFault(error: unknown, request: FastifyRequest): SvcError<AgentErrorCode> | null {
  if (error instanceof SvcError) return isKnown(error) ? error : null;
  if (typeof error !== 'object' || error === null) return null;
  if ('validation' in error && Array.isArray(error.validation)) {
    const part = 'validationContext' in error ? String(error.validationContext) : 'request';
    const failed: SchemaError[] = error.validation;
    const name = part === 'params' ? 'path' : part;
    const { code, message } = schemaFault(failed, name, request.routeOptions.config.route);
    return fault(code, message);
  }
  switch ('code' in error ? error.code : '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return fault(
        'payload_too_large',
        `The body must have at most ${request.routeOptions.bodyLimit} bytes here.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return fault('unsupported_media_type', 'The body must be application/json in UTF-8.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
      return fault('invalid_request', 'This is not a well-formed request.');
    default:
      return null;
  }
}

function isKnown(error: SvcError): error is SvcError<AgentErrorCode> {
  return isAgentErrorCode(error.code);
}
