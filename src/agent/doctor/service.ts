// Checks that need the service: address, TLS, clock, key and rate limit.
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { proxiedFetch as fetch } from '../../base/proxy/connections.ts';
import { describeProxies, mayUseProxy } from '../../base/proxy/variables.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { AgentConfig } from '../config.ts';
import { type KeySource, keyHint, readKey } from '../key.ts';
import type { AgentStatus } from '../status.ts';
import { createReader } from '../uploads/answers.ts';
import { callError, verdictOf } from '../uploads/retry.ts';
import { type Check, check, valueOrThrow, wrong } from './check.ts';

const ANSWER_MS = 10_000;
const CLOCK_TOLERANCE_MS = 30_000;
/** A clock before this date has lost its time. */
const EARLIEST_MS = Date.UTC(2026, 0);

type OwnRobot = Answer<'getOwnRobot'> & { headers: Headers };

/** Makes two calls. One of them counts against the robot's rate limit. */
export async function checkService(
  { serviceUrl, key }: AgentConfig,
  status: AgentStatus | null,
): Promise<Check[]> {
  const url = serviceUrl ?? status?.service;
  if (url === undefined)
    return [{ name: 'service', ok: false, detail: 'SVC_AGENT_URL is not set.' }];
  const proxy = await check('proxy', () => describeProxies(process.env) ?? '');
  const guest = createReader({ baseUrl: url, fetch });
  const askedAt = Date.now();
  const health = await ask((signal) => guest.call('getHealth', { signal }));
  const answeredAt = Date.now();
  const found = health instanceof SvcError ? null : Date.parse(health.headers.get('date') ?? '');
  const apiKey = await keyOf(key);
  const robot = health instanceof SvcError ? null : await askWhose(url, apiKey);
  return [
    ...(proxy.detail === '' ? [] : [proxy]),
    await check('service', () => {
      valueOrThrow(health);
      return `${url} answers`;
    }),
    await check('tls', () => describeTls(new URL(url))),
    await check('clock', () => describeClock(found, { askedAt, answeredAt })),
    await check('key', () => describeKey(valueOrThrow(apiKey), robot, status)),
    ...(await checkLimit(robot)),
  ];
}

async function ask<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T | SvcError> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    return await call(signal);
  } catch (error) {
    return callError(error, signal);
  }
}

async function keyOf(source: KeySource | null): Promise<string | SvcError> {
  if (source === null)
    return wrong('SVC_AGENT_KEY_FILE is not set.', 'Set it to the file of the API key.');
  return ask(() => readKey(source));
}

async function askWhose(baseUrl: string, apiKey: string | SvcError): Promise<OwnRobot | SvcError> {
  if (apiKey instanceof SvcError) return apiKey;
  const client = createReader({ baseUrl, fetch, credential: { apiKey } });
  return ask((signal) => client.call('getOwnRobot', { signal }));
}

async function describeTls({ protocol, hostname, port }: URL): Promise<string> {
  if (protocol === 'http:') return 'not used: the service is on this machine';
  if (mayUseProxy(`https://${hostname}`, process.env)) return 'not checked: a proxy is set';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
  });
  // Also after 'secureConnect': a reset then must not end the process.
  socket.on('error', () => {});
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(ANSWER_MS) });
    return `${socket.getProtocol()}, certificate valid until ${socket.getPeerCertificate().valid_to}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw wrong(
      `Cannot open a trusted connection to ${host} (${code}).`,
      'Check the certificate, and the clock of this machine.',
    );
  } finally {
    socket.destroy();
  }
}

/** `serviceMs`: the service's time between the two, cut to the second; null if it did not answer. */
function describeClock(
  serviceMs: number | null,
  { askedAt, answeredAt }: { askedAt: number; answeredAt: number },
): string {
  const now = new Date(answeredAt).toISOString();
  const hint = 'Set the clock; until then the daemon corrects the times that it sends.';
  if (answeredAt < EARLIEST_MS) throw wrong(`The clock of this machine is wrong: ${now}.`, hint);
  if (serviceMs === null || Number.isNaN(serviceMs)) return `${now}, not compared with the service`;
  const behind = serviceMs - answeredAt;
  const ahead = askedAt - (serviceMs + 1000);
  const off = Math.max(behind, ahead);
  if (off <= CLOCK_TOLERANCE_MS) return 'agrees with the service';
  const seconds = Math.round(off / 1000);
  throw wrong(
    `This clock is ${seconds} s ${ahead > behind ? 'ahead of' : 'behind'} the service.`,
    hint,
  );
}

function describeKey(
  apiKey: string,
  robot: OwnRobot | SvcError | null,
  status: AgentStatus | null,
): string {
  const hint = keyHint(apiKey);
  const used = status?.key_hint ?? hint;
  if (used !== hint) {
    throw wrong(
      `The daemon uses key ${used}…, but key ${hint}… is configured.`,
      'Under systemd, run: sudo systemctl restart svc-agent',
    );
  }
  if (robot === null || isLimited(robot)) return `${hint}…, not proven`;
  if (robot instanceof SvcError) {
    const set = 'Set another key with svc-agent key set.';
    throw wrong(`${hint}…: ${robot.message}`, verdictOf(robot) === 'key' ? set : robot.hint);
  }
  const { id, name } = robot.body.robot;
  const records = status?.robot_id ?? id;
  if (records !== id)
    throw wrong(`The key belongs to ${name} (${id}), but the spool has records of ${records}.`);
  return `${hint}… of ${name} (${id})`;
}

/** No check if the limit is unknown. */
async function checkLimit(robot: OwnRobot | SvcError | null): Promise<Check[]> {
  if (robot === null || (robot instanceof SvcError && !isLimited(robot))) return [];
  const look = () => {
    const { headers } = valueOrThrow(robot);
    const [limit, left] = ['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`));
    return `${left} of ${limit} calls left in this minute`;
  };
  return [await check('limit', look)];
}

/** The daemon stays below the limit, so another program must be using the key. */
function isLimited(outcome: OwnRobot | SvcError): outcome is SvcError {
  return outcome instanceof SvcError && outcome.code === 'rate_limited';
}
