import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';
import { startTestChain, type TestChain } from '../support/anvil.ts';

/** The warnings of a start. */
async function start(variables: Record<string, string>): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-public-'));
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line).msg) });
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
    SVC_ANCHOR_PRIVATE_KEY: '11'.repeat(32),
    ...variables,
  });
  try {
    const server = await startServer(config, { logger });
    await server.close();
  } finally {
    await rm(folder, { recursive: true });
  }
  return lines;
}

async function warningsOf(variables: Record<string, string>): Promise<string[]> {
  return (await start(variables)).filter((line) => line.includes('sign-up grants'));
}

const SVC_BASE_URL = 'https://svc.example.org';
const grant = { SVC_SIGNUP_ANCHORS: '10', SVC_SIGNUP_GAS_WEI: '1000' };
const SVC_SIGNUP_DELAY_HOURS = '24';
const SVC_SIGNUP_ANCHORS_PER_DAY = '100';

it.each([
  { SVC_BASE_URL, ...grant },
  { SVC_BASE_URL, SVC_SIGNUP_GAS_WEI: '1', SVC_SIGNUP_DELAY_HOURS },
  { SVC_BASE_URL, ...grant, SVC_SIGNUP_ANCHORS_PER_DAY },
])('warns about sign-up grants that one person can collect: %j', async (variables) => {
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

describe('a chain that is not in the list of known chains', () => {
  let chain: TestChain;
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.close());

  it('needs a URL for wallets on a public address', async () => {
    await expect(start({ SVC_BASE_URL, SVC_CHAIN_RPC_URL: chain.url })).rejects.toMatchObject({
      code: 'invalid_configuration',
      hint: expect.stringContaining('Set SVC_PUBLIC_RPC_URL'),
    });
  });

  it.each([
    { SVC_BASE_URL, SVC_PUBLIC_RPC_URL: 'https://rpc.example.org' },
    { SVC_BASE_URL: 'http://127.0.0.1:3000' },
  ])('starts with a URL, or on loopback: %j', async (variables) => {
    await expect(start({ ...variables, SVC_CHAIN_RPC_URL: chain.url })).resolves.toBeDefined();
  });
});
