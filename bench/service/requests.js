import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openSite } from '../site.js';
import { callsPerSecond } from './calls.js';

const CONNECTIONS = 64;
/** Each may make 600 calls a minute. */
const ROBOTS = 1000;

export const SAMPLES_PER_REQUEST = 50;
const SAMPLERS = 200;
const echo = fileURLToPath(new URL('echo.js', import.meta.url));

const claim = JSON.stringify({
  title: 'Carry parcel 17 to bay C7',
  description: 'From shelf A1, over B4; fragile.',
  expected_result: { parcels: 1, bay: 'C7' },
});

function post(path, apiKey, body) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  return { method: 'POST', path, headers, body };
}

/** By turns, so that nobody meets a limit. */
function turns(robots) {
  let turn = 0;
  return () => robots[turn++ % robots.length].apiKey;
}

/** Authenticated, limited, validated and durable claims a second. */
export async function claimsPerSecond({ seconds, environment, profile }) {
  const site = await openSite({ blockTime: 'manual', robots: ROBOTS, environment, profile });
  try {
    const apiKey = turns(site.robots);
    const next = () => post('/api/v1/tasks', apiKey(), claim);
    return await callsPerSecond({
      url: site.url,
      connections: CONNECTIONS,
      seconds,
      expected: 201,
      next,
    });
  } finally {
    await site.close();
  }
}

/** A Fastify route that parses and echoes the same body, with the same logger: what HTTP alone costs. */
export async function echoesPerSecond({ seconds }) {
  const child = fork(echo, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const [url] = await once(child, 'message');
  const next = () => post('/api/v1/tasks', `svc_${'0'.repeat(40)}`, claim);
  const perSecond = await callsPerSecond({
    url,
    connections: CONNECTIONS,
    seconds,
    expected: 201,
    next,
  });
  child.kill('SIGTERM');
  await once(child, 'exit');
  return perSecond;
}

/** A sample as a robot's program makes it once a second. */
export function sampleAt(recordedAt, n) {
  return {
    recorded_at: new Date(recordedAt).toISOString(),
    battery_pct: 80 - (n % 60),
    state: 'busy',
    metrics: { n, speed_m_s: 0.4, temp_c: 41.5, cpu: 0.37 },
  };
}

/** Durable samples a second over HTTP, 50 a request, of 200 robots that send by turns. */
export async function samplesPerSecond({ seconds, environment, profile }) {
  const site = await openSite({ blockTime: 'manual', robots: SAMPLERS, environment, profile });
  try {
    const apiKey = turns(site.robots);
    let sent = 0;
    const begin = Date.now() - 3_600_000;
    const next = () => {
      // Of each robot one a second, as its day goes on.
      const first = Math.floor(sent / SAMPLERS) * SAMPLES_PER_REQUEST;
      sent += 1;
      const samples = Array.from({ length: SAMPLES_PER_REQUEST }, (_, i) =>
        sampleAt(begin + (first + i) * 1000, first + i),
      );
      return post('/api/v1/telemetry', apiKey(), JSON.stringify({ samples }));
    };
    const requests = await callsPerSecond({
      url: site.url,
      connections: CONNECTIONS,
      seconds,
      expected: 201,
      next,
    });
    return requests * SAMPLES_PER_REQUEST;
  } finally {
    await site.close();
  }
}
