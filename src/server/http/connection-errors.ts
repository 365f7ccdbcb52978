import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { SvcError } from '../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { fault } from '../core/fault.ts';
import { errorBody } from './answer-error.ts';
import { rateHeaders } from './rate-limit.ts';

/** Answers what Node's parser refuses before there is a request, then closes the connection. */
export function answerConnectionError(error: Error & { code?: string }, socket: Socket): void {
  // An answer under way on this connection must not be cut into.
  const untouched = socket.bytesWritten === 0 || !hasAnswerUnderWay(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || !untouched) {
    socket.destroy();
    return;
  }
  socket.end(rawAnswer(faultOf(error.code)));
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
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    'x-request-id': randomUUID(),
    ...rateHeaders(limits.unmeteredPerWindow, limits.unmeteredPerWindow),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}

/** Node keeps the answer being written on the socket; its own handler decides by the same member. */
function hasAnswerUnderWay(socket: Socket & { _httpMessage?: { headersSent?: boolean } | null }) {
  return socket._httpMessage?.headersSent === true;
}
