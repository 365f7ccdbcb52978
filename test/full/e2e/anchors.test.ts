import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnchorsList } from '../../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { anchorOnce } from '../../support/one-robot.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, prepareServer, spawnServer } from '../../support/server-process.ts';
import { createSvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

const [old, next] = anvilAccounts;

let dataDir: string;
let chain: TestChain;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-anchors-'));
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(async () => {
  killServers();
  await chain.close();
  await rm(dataDir, { recursive: true });
});

const options = (...privateKeys: string[]) => ({
  dataDir,
  rpcUrl: chain.url,
  environment: { SVC_ANCHOR_PRIVATE_KEY: privateKeys.join(','), LEASE_TTL_MS: '1500' },
});
const command = (...args: string[]) =>
  runInProcess('svc-server', ['anchors', ...args, '--json'], { env: { SVC_DATA_DIR: dataDir } });
const retire = async () => {
  const { exitCode, stderr } = await command('retire', old.address);
  return exitCode === 0 ? 'retired' : JSON.parse(stderr).error;
};
const listAt = async (url: string) =>
  (await (await fetch(`${url}/.well-known/svc-anchors.json`)).json()) as AnchorsList;

// The second test needs the database of the first.
describe('svc-server anchors', { shuffle: false }, () => {
  it('replaces an anchoring account, and saved lists follow the change', async () => {
    // An operator lets both keys anchor for a while, so that the old one signs the list that has the new one.
    const first = await spawnServer(options(old.privateKey, next.privateKey));
    await anchorOnce(first);
    await waitFor('both accounts', async () => (await listAt(first.url)).signatures.length === 2);
    const { port } = new URL(first.url);
    const user = await createSvcUser(first.url);
    expect((await user.svc(['trust', 'add', first.url, '--yes'])).exitCode).toBe(0);
    expect(await retire()).toBe('account_in_use');
    await first.kill('SIGTERM');

    const settings = options(next.privateKey);
    const second = await spawnServer({
      ...settings,
      environment: { ...settings.environment, SVC_PORT: port },
    });
    const retired = await waitFor('every anchor to be final', async () => {
      const outcome = await retire();
      return outcome !== 'not_final' && outcome !== 'account_in_use' && outcome;
    });
    const list = await listAt(second.url);
    const refreshed = await user.json('trust', 'refresh', second.url);
    await second.kill('SIGTERM');
    await user.remove();

    expect(retired).toBe('retired');
    expect(list.accounts).toContainEqual(
      expect.objectContaining({ address: old.address, last_block: expect.stringMatching(/^\d+$/) }),
    );
    expect(list.signatures.map(({ address }) => address)).toEqual([next.address]);
    expect(refreshed).toMatchObject({ sequence: 3, accounts: list.accounts });
    expect(JSON.parse((await command('list')).stdout).items).toHaveLength(2);
    const server = prepareServer().start(options(old.privateKey));
    await expect(server.url).rejects.toThrow();
  });

  it('retires the last account that can anchor only with --leave-none', async () => {
    const refused = await command('retire', next.address);
    const retired = await command('retire', next.address, '--leave-none');

    expect([refused.exitCode, JSON.parse(refused.stderr).error]).toEqual([1, 'last_account']);
    expect([retired.exitCode, retired.stderr]).toEqual([0, '']);
  });

  it('retires no account that never anchored', async () => {
    const { exitCode, stderr } = await command('retire', `0x${'12'.repeat(20)}`);

    expect([exitCode, JSON.parse(stderr).error]).toEqual([1, 'not_found']);
  });
});
