import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { SvcError } from '../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { fault } from '../core/fault.ts';
import { errorBody } from './answer-error.ts';
import type { AnswersDue } from './answers-due.ts';

/** The sender has so long to take the answer and to close its side. */
const LINGER_MS = 1000;

/**
 * Answers what Node's parser refuses before there is a request, and what arrives too slowly, then ends the
 * connection, whatever the other side does. Where the answer could be taken for that of an earlier request,
 * the connection ends without one.
 */
export function createConnectionErrorHandler(answers: AnswersDue) {
  const ending = new WeakSet<Socket>();
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (ending.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable || !answers.mayInterject(socket)) {
      socket.destroy();
      return;
    }
    ending.add(socket);
    socket.end(rawAnswer(faultOf(error.code)));
    // Destroyed at once, it would take the answer with it where more of the request is on its way.
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}

function faultOf(code: string | undefined): SvcError<ErrorCode> {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return fault('headers_too_large', 'The request headers are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return fault('request_timeout', 'The request took too long to arrive.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return fault('payload_too_large', 'The chunk extensions of the body are too large.');
    default:
      return fault('invalid_request', 'This is not a well-formed HTTP request.');
  }
}

function rawAnswer(refusal: SvcError<ErrorCode>): string {
  const { status } = errors[refusal.code];
  const body = JSON.stringify(errorBody(refusal));
  const limit = String(limits.unmeteredPerWindow);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': randomUUID(),
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': limit,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
