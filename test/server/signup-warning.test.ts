import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';

async function warningsOf(variables: Record<string, string>): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-signup-'));
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line).msg) });
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
    SVC_ANCHOR_PRIVATE_KEY: '11'.repeat(32),
    ...variables,
  });
  const server = await startServer(config, { logger });
  await server.close();
  await rm(folder, { recursive: true });
  return lines.filter((line) => line.includes('sign-up grants'));
}

const SVC_BASE_URL = 'https://svc.example.org';
const grant = { SVC_SIGNUP_ANCHORS: '10', SVC_SIGNUP_GAS_WEI: '1000' };
const SVC_SIGNUP_DELAY_HOURS = '24';
const SVC_SIGNUP_ANCHORS_PER_DAY = '100';

it.each([
  { SVC_BASE_URL, ...grant },
  { SVC_BASE_URL, SVC_SIGNUP_GAS_WEI: '1', SVC_SIGNUP_DELAY_HOURS },
  { SVC_BASE_URL, ...grant, SVC_SIGNUP_ANCHORS_PER_DAY },
])('warns of sign-up grants that one person can collect: %j', async (variables) => {
  expect(await warningsOf(variables)).toEqual([
    expect.stringContaining('set SVC_SIGNUP_DELAY_HOURS and SVC_SIGNUP_ANCHORS_PER_DAY'),
  ]);
});

it.each([
  grant,
  { SVC_BASE_URL },
  { SVC_BASE_URL, ...grant, SVC_SIGNUP_DELAY_HOURS, SVC_SIGNUP_ANCHORS_PER_DAY },
])('does not warn on loopback, without grants, or with both limits: %j', async (variables) => {
  expect(await warningsOf(variables)).toEqual([]);
});
