import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { readBundle } from '../../../src/proof/bundle.ts';
import { auditChainProof } from '../../../src/proof/chain-proof.ts';
import type { JsonValue } from '../../../src/proof/json-value.ts';
import { claimWork, completeAll, provenWork, readReceipts } from '../../support/anchored-work.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { leavesIn, scanAnchors } from '../../support/chain-scan.ts';
import { createServerDatabase, type ServerDatabase } from '../../support/server-database.ts';
import { killServers, spawnServer } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const svcServer = path.resolve(import.meta.dirname, '../../../bin/svc-server.js');

/** More than two commits of settlement take. */
const MANY = 140;

let chain: TestChain;
let dataDir: string;
let database: ServerDatabase;
let before: number;

beforeAll(async () => {
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-crash-'));
  database = await createServerDatabase(dataDir);
  before = (await scanAnchors(chain.url)).length;
});
afterEach(async () => {
  killServers();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function countVerified(): Promise<number> {
  return Number(await database.value("SELECT count(*) FROM tasks WHERE status = 'verified'"));
}

async function check(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [svcServer, 'check'], {
    env: { PATH: process.env.PATH, SVC_DATA_DIR: dataDir, ...database.environment },
  });
  return stdout;
}

describe('a server killed with SIGKILL while a batch is partly settled', () => {
  it('settles the other leaves after its restart, each once, and keeps the receipts', async () => {
    const { environment } = database;
    const server = { dataDir, rpcUrl: chain.url, environment };
    const doomed = await spawnServer({
      ...server,
      crash: { at: 'leaves_settled', count: 2 },
      environment: { ...environment, SVC_ANCHOR_LINGER_MS: '1000' },
    });
    const work = await claimWork(doomed.url, MANY);
    const told = await completeAll(doomed.url, work);
    expect(await doomed.ended).toBe('SIGKILL');
    const verifiedAtCrash = await countVerified();

    const heir = await spawnServer(server);
    // A request that was cut before its proof was stored is repeated, as a robot would.
    const again = await completeAll(heir.url, work);
    const receipts = await readReceipts(heir.url, work);

    expect(verifiedAtCrash).toBeGreaterThan(1);
    expect(verifiedAtCrash).toBeLessThan(MANY);
    const harmless = ['completion_in_progress', 'already_completed'];
    expect(again.refusals.filter((code) => !harmless.includes(code))).toEqual([]);
    const anchors = (await scanAnchors(chain.url)).slice(before);
    expect(leavesIn(anchors)).toBe(MANY);
    expect(provenWork(work, receipts, anchors)).not.toContain(false);
    for (const { finality: _, ...receipt } of told.receipts) {
      expect(receipts).toContainEqual(expect.objectContaining(receipt));
    }
    expect(await check()).toBe('Every invariant holds.\n');
    expect(await heir.kill('SIGTERM')).toBe('0');
  });
});

// The first two are the same to the database.
for (const at of [
  'chain_proof_built',
  'recordChainProof:before',
  'recordChainProof:after',
] as const) {
  describe(`a server killed with SIGKILL at ${at}`, () => {
    it('has a complete chain proof or none, and one after its restart', async () => {
      const { environment } = database;
      const server = { dataDir, rpcUrl: chain.url, environment };
      const doomed = await spawnServer({ ...server, crash: { at, count: 1 } });
      const work = await claimWork(doomed.url, 1);
      await completeAll(doomed.url, work);
      expect(await doomed.ended).toBe('SIGKILL');
      const left = await database.value('SELECT count(*) FROM chain_proofs WHERE header IS NULL');
      expect(await check()).toBe('Every invariant holds.\n');

      const heir = await spawnServer(server);
      const owner = createClient({
        baseUrl: heir.url,
        fetch,
        credential: { session: work.session },
      });
      const params = { id: work.tasks[0]?.task.id ?? '' };
      const bundle = await waitFor('the chain proof', async () => {
        const { body } = await owner.call('getBundle', { params });
        return body.format === 'svc-bundle/2' && readBundle(body as JsonValue);
      });

      expect(Number(left)).toBe(at === 'recordChainProof:after' ? 0 : 1);
      const checks = auditChainProof(bundle, bundle.anchor.block_hash);
      expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      expect(await heir.kill('SIGTERM')).toBe('0');
    });
  });
}
