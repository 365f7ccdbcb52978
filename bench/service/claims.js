import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { serverInstallation } from '../../dist/server/commands/start.js';
import { startProgram } from '../measured-program.js';
import { openSite } from '../site.js';
import { environmentOf } from '../unit-environment.js';
import { callsPerSecond, inTurn, post } from './calls.js';
import { openStreams } from './streams.js';

const CONNECTIONS = 128;
/** Each may make 600 calls a minute. */
const ROBOTS = 1000;

const echo = fileURLToPath(new URL('echo.js', import.meta.url));

const claim = JSON.stringify({
  title: 'Carry parcel 17 to bay C7',
  description: 'From shelf A1, over B4; fragile.',
  expected_result: { parcels: 1, bay: 'C7' },
});

/** Authenticated, limited, validated and durable claims a second, while so many idle streams are open. */
export async function claimsPerSecond({ seconds, environment, profile, streams = 0 }) {
  const site = await openSite({ blockTime: 'manual', robots: ROBOTS, environment, profile });
  try {
    const robot = inTurn(site.robots);
    const next = () => post('/api/v1/tasks', robot().apiKey, claim);
    const options = { url: site.url, connections: CONNECTIONS, seconds, expected: 201, next };
    const closeStreams = await openStreams(site.url, streams);
    const { perSecond } = await callsPerSecond(options);
    closeStreams();
    return perSecond;
  } finally {
    await site.close();
  }
}

/** A Fastify route that parses and echoes the same body and logs the same line to a file: what HTTP alone costs. */
export async function echoesPerSecond({ seconds }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
  const server = await startProgram({
    command: [echo],
    env: { PATH: process.env.PATH, ...environmentOf(serverInstallation) },
    log: path.join(folder, 'echo.log'),
  });
  try {
    const next = () => post('/api/v1/tasks', `svc_${'0'.repeat(40)}`, claim);
    const { url } = server;
    const options = { url, connections: CONNECTIONS, seconds, expected: 201, next };
    return (await callsPerSecond(options)).perSecond;
  } finally {
    await server.end('SIGTERM');
    await rm(folder, { recursive: true });
  }
}
