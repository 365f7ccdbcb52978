import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { readConfig } from '../../../src/server/config.ts';
import { type Server, startServer } from '../../../src/server/main.ts';
import { weekOf } from '../../../src/server/store/postgres/engine/partitions.ts';
import { migratePostgres } from '../../../src/server/store/postgres/open-store.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { needsProgram } from '../../support/require-program.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';
import { newEvidence } from '../../support/service.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import { openStream } from '../../support/stream.ts';
import { waitFor } from '../../support/wait-for.ts';

const TOKEN = 'metrics-token-of-a-test';

/** The whole server in this process, so that its clock and sockets are at hand. */
async function start(rpcUrl: string, environment: Record<string, string> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-metrics-'));
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: rpcUrl,
    SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
    SVC_SIGNUP_ANCHORS: '10',
    SVC_SIGNUP_GAS_WEI: '1000000000000000000',
    ...environment,
  });
  const server = await startServer(config, { logger: pino({ level: 'silent' }) });
  return { server, folder };
}

/** Values by sample, labels included, as a scraper reads them. */
async function scrape(server: Server): Promise<Map<string, number>> {
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => /^\w/.test(line));
  return new Map(
    lines.map((line): [string, number] => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

describe('the metrics of a server that anchors', () => {
  let anvil: Awaited<ReturnType<typeof startAnvil>>;
  let server: Server;
  let folder: string;
  let samples: Map<string, number>;
  let robotId: string;
  beforeAll(async () => {
    anvil = await startAnvil({ blockTime: 0.1 });
    ({ server, folder } = await start(anvil.url, {
      SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR: '2000000000000000000',
    }));
    const { owner } = await signInAt(server.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    robotId = body.robot.id;
    const robot = robotClient(server.url, String(body.api_key));
    const claimed = await robot.call('createTask', { body: { title: 'Sort' } });
    const params = { id: claimed.body.task.id };
    await waitFor('an anchor', async () => {
      const answer = await robot
        .call('completeTask', { params, body: { proof: newEvidence() } })
        .catch(() => null);
      return answer?.status === 200;
    });
    await fetch(`${server.url}/nowhere`);
    samples = await scrape(server);
  });
  afterAll(async () => {
    await server.close();
    await anvil.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    'svc_http_request_seconds_count{route="createTask",method="POST",status="201"}',
    'svc_http_request_seconds_count{route="completeTask",method="POST",status="200"}',
    'svc_http_request_seconds_count{route="none",method="GET",status="404"}',
    'svc_anchors_total{state="queued"}',
    'svc_anchors_total{state="submitted"}',
    'svc_anchors_total{state="included"}',
    'svc_anchor_transactions_total{state="included"}',
  ])('count %s', (sample) => {
    expect(samples.get(sample)).toBe(1);
  });

  it('pass the linter of Prometheus', async (context) => {
    const promtool = needsProgram(context, 'promtool');
    const text = await (await fetch(`${server.url}/metrics`)).text();

    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: text });

    expect([status, `${stdout}${stderr}`]).toEqual([0, '']);
  });

  it('count gas, commits, store calls and RPC calls', () => {
    expect(samples.get('svc_anchor_gas_total')).toBeGreaterThan(21_000);
    const sender = '{sender="0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}';
    expect(samples.get(`svc_anchor_fees_total${sender}`)).toBeGreaterThan(0);
    expect(samples.get(`svc_anchor_balance${sender}`)).toBeGreaterThan(1);
    expect(samples.get('svc_db_commit_seconds_count')).toBeGreaterThan(5);
    expect(samples.get('svc_db_commit_writes_sum')).toBeGreaterThan(5);
    expect(samples.get('svc_db_call_seconds_count{method="createTask"}')).toBe(1);
    const sent =
      'svc_rpc_call_seconds_count{provider="rpc-1",method="eth_sendRawTransaction",outcome="answered"}';
    expect(samples.get(sent)).toBe(1);
  });

  it('show the spend of the last hour beside its cap', () => {
    expect(samples.get('svc_anchor_spend_cap')).toBe(2);
    const reserved = samples.get('svc_anchor_spend_reserved');
    expect(reserved).toBeGreaterThan(0);
    expect(reserved).toBeLessThan(2);
  });

  it('show an empty queue', () => {
    expect(samples.get('svc_anchor_queue_proofs')).toBe(0);
    expect(samples.get('svc_anchor_queue_age_seconds')).toBe(0);
    expect(samples.get('svc_anchor_submitted_proofs')).toBe(0);
    expect(samples.get('svc_anchor_unmined_age_seconds')).toBe(0);
    expect(samples.get('svc_anchor_parked')).toBe(0);
    expect(samples.get('svc_anchor_replacements_total')).toBe(0);
  });

  it('follow its transaction until it is final', async () => {
    await waitFor('finality', async () => {
      const now = await scrape(server);
      const finalized = now.get('svc_anchor_transactions_total{state="finalized"}');
      return finalized === 1 && now.get('svc_anchor_transactions{state="included"}') === 0;
    });
  });

  it('count the bytes of its chain proof, and then no missing one', async () => {
    const now = await waitFor('the chain proof', async () => {
      const now = await scrape(server);
      const isBuilt = (now.get('svc_chain_proof_bytes_total') ?? 0) > 0;
      return isBuilt && now.get('svc_chain_proofs_missing') === 0 && now;
    });

    expect(now.get('svc_chain_proof_bytes_total')).toBeGreaterThan(600);
  });

  it('contain no id, and no wallet except the anchoring account', () => {
    const text = [...samples.keys()].join('\n').replace(/\{sender="0x\w{40}"\}/g, '');

    expect(text).not.toContain(robotId);
    expect(text).not.toMatch(/0x[0-9a-f]{8}|[0-9a-f]{8}-[0-9a-f]{4}/i);
  });

  it('count the open streams', async () => {
    const { session } = await signInAt(server.url);
    const { response } = await openStream(server.url, { session });
    expect((await scrape(server)).get('svc_streams')).toBe(1);

    response.destroy();

    await waitFor('its end', async () => (await scrape(server)).get('svc_streams') === 0);
  });

  it('are not served through a proxy', async () => {
    for (const name of ['x-forwarded-for', 'forwarded']) {
      const response = await fetch(`${server.url}/metrics`, { headers: { [name]: 'for=1.2.3.4' } });
      expect(response.status).toBe(404);
    }
  });
});

describe('the metrics of a server without its chain', () => {
  it('show what waits, what fails and why, to a caller with the token', async () => {
    const { server, folder } = await start('http://127.0.0.1:9', { SVC_METRICS_TOKEN: TOKEN });
    const read = (authorization?: string) =>
      fetch(`${server.url}/metrics`, authorization ? { headers: { authorization } } : {});

    expect((await read()).status).toBe(404);
    expect((await read(`Bearer ${TOKEN}x`)).status).toBe(404);
    const text = await waitFor('a failed call', async () => {
      const answer = await (await read(`Bearer ${TOKEN}`)).text();
      return /svc_rpc_call_seconds_count\{provider="rpc-1",method="eth_chainId",outcome="failed"\}/.test(
        answer,
      )
        ? answer
        : null;
    });
    expect(text).toContain('svc_anchor_queue_proofs 0');
    expect(text).toContain('svc_rpc_provider_healthy{provider="rpc-1"} 0');
    expect(text).toMatch(/svc_rpc_errors_total\{provider="rpc-1"\} [1-9]/);
    await server.close();
    await rm(folder, { recursive: true });
  });

  it('count the callers that the limit refuses', async () => {
    const { server, folder } = await start('http://127.0.0.1:9');
    const body = JSON.stringify({ address: anvilAccounts[1].address });
    const headers = { 'content-type': 'application/json' };
    const ask = () => fetch(`${server.url}/api/auth/challenge`, { method: 'POST', headers, body });
    await waitFor('a refusal', async () => (await ask()).status === 429, 60_000);

    const samples = await scrape(server);

    expect(samples.get('svc_rate_limited_total{limit="challenge"}')).toBe(1);
    expect(samples.get('svc_refusals_total{code="rate_limited"}')).toBe(1);
    await server.close();
    await rm(folder, { recursive: true });
  });
});

describe('the metrics of a server on PostgreSQL', () => {
  it('report that partitions cannot be created', async () => {
    const database = await emptyDatabase();
    await migratePostgres({ url: database.url, poolMax: 2, pooler: false });
    await database.execute(`CREATE TABLE ${weekOf(Date.now()).table} (is_in_the_way boolean)`);
    const { server, folder } = await start('http://127.0.0.1:9', {
      SVC_DATABASE_URL: database.url,
    });

    expect((await scrape(server)).get('svc_db_partitions_failing')).toBe(1);
    await server.close();
    await database.drop();
    await rm(folder, { recursive: true });
  });
});
