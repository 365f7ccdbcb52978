// What the handlers of the local API work with: dependencies, and bodies read as strictly as the service does.
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';
import { bodyError, tooLarge } from '../../protocol/body-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import type { Answer } from '../../protocol/routes.ts';
import { codeOf, type WireError } from '../../protocol/schema-error.ts';
import { lacksZone, ZONE_HINT } from '../../protocol/timestamp.ts';
import type { AgentClock } from '../clock.ts';
import { agentError } from '../errors.ts';
import type { Spool } from '../spool/spool.ts';

export interface LocalDeps {
  readonly spool: Spool;
  readonly clock: AgentClock;
  /** The task as the service has it. Rejects with the service's error or `service_unreachable`. */
  readTask(id: string): Promise<Answer<'getTask'>['body']>;
  /** Body of `GET /api/v1/status`. */
  status(): object;
  readonly logger: FastifyBaseLogger;
  /** Ends every wait. */
  readonly stopping: AbortSignal;
}

/** Takes the place of a sample that parsers would change, so that the others are accepted. */
export class UnreadableSample {
  readonly text: string;
  readonly error: WireError;

  constructor(text: string, error: WireError) {
    this.text = text;
    this.error = error;
  }
}

/**
 * The JSON value of a body, exactly as sent.
 * @throws SvcError as the service does: `unsupported_media_type`, `invalid_json`, or the code of the field
 * whose value JSON parsers would change silently
 */
export async function readBody(request: FastifyRequest, bytes: Buffer): Promise<JsonValue> {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers;
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1] ?? 'utf-8';
  if (charset.toLowerCase() !== 'utf-8' || encoding !== 'identity') throw notPlainJson();
  const { route } = request.routeOptions.config;
  try {
    return parseStrictJson(decodeUtf8(bytes), {
      maxDepth: limits.documentDepth + 1,
      numbers: route?.roundsNumbers && 'round',
      onItemFault(fault, text) {
        const isInSample = fault.pointer.startsWith('/samples/') && route?.countErrors?.samples;
        if (!isInSample) return undefined;
        return new UnreadableSample(text.trim(), bodyError(fault, route)) as never; // No JSON value is one of these, so no caller can send it.
      },
    });
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const { code, message } = bodyError(error, route);
    throw agentError(code, message);
  }
}

export function notPlainJson() {
  const message = 'The body must be application/json in UTF-8, without a Content-Encoding.';
  return agentError('unsupported_media_type', message);
}

/** What is wrong with a time that a program gave; null if nothing is. Records in the spool are not checked. */
export function zoneProblem(
  field: string,
  time: string | undefined,
  route: Route,
): WireError | null {
  if (time === undefined || !lacksZone(time)) return null;
  const message = `${field} has no time zone: ${ZONE_HINT}.`;
  return { code: codeOf(field, route) ?? 'invalid_request', message };
}

/** @throws SvcError as `zoneProblem` */
export function requireZone(field: string, time: string | undefined, route: Route): void {
  const problem = zoneProblem(field, time, route);
  if (problem !== null) throw agentError(problem.code, problem.message);
}

/** Canonical text of a document. @throws SvcError `payload_too_large` */
export function documentText(field: string, document: object, maxBytes: number): string {
  const text = canonicalJson(document);
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const { code, message } = tooLarge(field, maxBytes);
  throw agentError(code, message);
}
