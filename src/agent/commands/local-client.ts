// Calls the daemon on its unix socket.
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { responseTo } from '../../base/sockets.ts';
import { SvcError } from '../../base/svc-error.ts';
import { isAgentErrorCode } from '../errors.ts';
import { environmentOfAgent } from '../installation.ts';

export interface LocalAnswer {
  readonly status: number;
  // The route defines the shape. Daemon and command are of one version.
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows its route
  readonly body: any;
}

export interface LocalRequest {
  /** JSON text. */
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Calls `askAgent` on the socket that the environment names. */
export async function askDaemon(
  method: 'GET' | 'POST',
  path: string,
  request?: LocalRequest,
): Promise<LocalAnswer> {
  return askAgent(await socketOf(), method, path, request);
}

/** The text of a long answer, as it arrives. @throws SvcError as `askAgent`, also if the answer breaks off */
export async function* readText(path: string): AsyncGenerator<string> {
  const socket = await socketOf();
  const response = await send(socket, 'GET', path);
  if (response.statusCode !== 200) await readAnswer(socket, response);
  try {
    for await (const part of response.setEncoding('utf8')) yield String(part);
  } catch (cause) {
    throw unreachable(socket, cause);
  }
}

async function socketOf(): Promise<string> {
  const { readConfig } = await import('../config.ts');
  return readConfig(await environmentOfAgent(process.env)).socket;
}

/**
 * Sends one request to the daemon.
 * @throws SvcError `agent_unreachable` if no daemon answers, and the daemon's own errors
 */
export async function askAgent(
  socketPath: string,
  method: 'GET' | 'POST',
  path: string,
  request: LocalRequest = {},
): Promise<LocalAnswer> {
  return readAnswer(socketPath, await send(socketPath, method, path, request));
}

async function send(
  socketPath: string,
  method: 'GET' | 'POST',
  path: string,
  { body, headers, signal }: LocalRequest = {},
): Promise<IncomingMessage> {
  const sent = request({
    socketPath,
    method,
    path,
    agent: false,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(signal && { signal }),
  });
  return responseTo(sent, body).catch((cause) => {
    throw unreachable(socketPath, cause);
  });
}

async function readAnswer(socketPath: string, response: IncomingMessage): Promise<LocalAnswer> {
  let answer: LocalAnswer;
  try {
    answer = { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) };
  } catch (cause) {
    throw unreachable(socketPath, cause);
  }
  if (answer.status < 300) return answer;
  const { error, message, ...details } = answer.body;
  if (!isAgentErrorCode(error)) throw unreachable(socketPath, null);
  throw new SvcError(error, message, { details });
}

function unreachable(socketPath: string, cause: unknown): SvcError {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  const why = code === undefined ? '' : ` (${code})`;
  return new SvcError('agent_unreachable', `No svc-agent answers on ${socketPath}${why}.`, {
    hint: 'Start it with svc-agent run, set SVC_AGENT_SOCKET like the daemon, or join the group of the socket.',
    cause,
  });
}
