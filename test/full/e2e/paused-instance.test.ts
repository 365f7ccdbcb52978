import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { claimWork, completeAll, provenWork, readReceipts } from '../../support/anchored-work.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { leavesIn, scanAnchors } from '../../support/chain-scan.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, spawnServer } from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const COUNT = 5;
/** Long enough that a busy machine does not lose it before the pause. */
const LEASE_TTL_MS = '3000';

let chain: TestChain;
let dataDir: string;
let database: TemporaryDatabase;
let before: number;

beforeAll(async () => {
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-paused-'));
  database = await emptyDatabase();
  before = (await scanAnchors(chain.url)).length;
});
afterEach(async () => {
  killServers();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

// It signed, and another anchors the same proofs; or it had committed, and another sends what it signed.
for (const at of ['attempt_signed', 'attempt_committed']) {
  it(`an instance paused at ${at} for longer than its lease duplicates nothing when it resumes`, async () => {
    const server = {
      dataDir,
      rpcUrl: chain.url,
      environment: { SVC_DATABASE_URL: database.url, SVC_ANCHOR_TIMEOUT_MS: '0', LEASE_TTL_MS },
    };
    const paused = await spawnServer({ ...server, crash: { at, count: 1, signal: 'SIGSTOP' } });
    await waitFor('its lease', () => paused.passed.has('saveChainStatus:after'));
    const heir = await spawnServer(server);
    const work = await claimWork(heir.url, COUNT);
    await completeAll(heir.url, work);
    await waitFor('the pause', () => paused.killedAt());

    const receipts = await readReceipts(heir.url, work);
    paused.signal('SIGCONT');
    const more = await claimWork(paused.url, COUNT);
    await completeAll(paused.url, more);
    const later = await readReceipts(paused.url, more);

    const anchors = (await scanAnchors(chain.url)).slice(before);
    expect(leavesIn(anchors)).toBe(2 * COUNT);
    expect(provenWork(work, receipts, anchors)).not.toContain(false);
    expect(provenWork(more, later, anchors)).not.toContain(false);
    const check = await runInProcess('svc-server', ['check'], {
      env: { SVC_DATABASE_URL: database.url },
    });
    expect(check.stdout).toBe('Every invariant holds.\n');
    expect(await heir.kill('SIGTERM')).toBe('0');
    expect(await paused.kill('SIGTERM')).toBe('0');
  });
}
