import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, robotClient, signInAt, spawnServer } from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

let dataDir: string;
let database: TemporaryDatabase;
let anvil: Awaited<ReturnType<typeof startAnvil>>;
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-accounts-'));
  database = await emptyDatabase();
  anvil = await startAnvil({ blockTime: 0.1 });
});
afterEach(async () => {
  killServers();
  await anvil.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

describe.each(['sqlite', 'postgres'] as const)(
  'with a running server on %s, an operator',
  (store) => {
    it('finds the account that stores most, suspends it, exports it and deletes it', async () => {
      const environment: Record<string, string> =
        store === 'postgres' ? { SVC_DATABASE_URL: database.url } : {};
      const server = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
      const env = { ...environment, SVC_DATA_DIR: dataDir, SVC_CHAIN_RPC_URL: anvil.url };
      const accounts = async (...args: string[]) => {
        const { exitCode, stdout, stderr } = await runInProcess(
          'svc-server',
          ['accounts', ...args],
          {
            env,
          },
        );
        expect([args, exitCode, exitCode === 0 ? '' : stderr]).toEqual([args, 0, '']);
        return stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
      };
      await signInAt(server.url);
      const { owner } = await signInAt(server.url);
      const { wallet } = (await owner.call('getAccount')).body;
      const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
      const robot = robotClient(server.url, String(body.api_key));
      const { task } = (await robot.call('createTask', { body: { title: 'Fill the disk' } })).body;
      const [params, proof] = [{ id: task.id }, { full: true }];
      await robot.call('completeTask', { params, body: { proof } });
      await robot.call('recordSamples', { body: { battery_pct: 50 } });

      // The server saves what it counted in memory every 5 s, and `list` shows it afterwards.
      expect((await accounts('list', '--json')).map((one) => one.wallet)).toContain(wallet);
      expect(await accounts('top', '--by', 'anchors', '--json')).toMatchObject([{ wallet }]);
      await accounts('suspend', wallet, '--reason', 'full disk', '--json');
      // A server on SQLite reads from before the commit that it is flushing.
      await waitFor('the suspension', () =>
        owner.call('createFleet', { body: { name: 'More' } }).then(
          () => false,
          ({ code }) => code === 'account_suspended',
        ),
      );
      const { SVC_CHAIN_RPC_URL: _, ...withoutChain } = env;
      const { stdout } = await runInProcess('svc-server', ['accounts', 'export', wallet], {
        env: withoutChain,
      });
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines.filter(({ record }) => record.kind === 'account_exported')).toEqual([]);
      expect(lines.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['account', 'robot', 'sample', 'task', 'bundle', 'audit_entry']),
      );
      const newest = async () => (await owner.call('listAuditLog')).body.items[0];
      const exported = { kind: 'account_exported', actor_name: 'svc-server accounts export' };
      await waitFor('the entry of the export', async () =>
        (await newest())?.kind === exported.kind ? true : null,
      );
      expect(await newest()).toMatchObject(exported);
      const bundle = lines.find(({ kind }) => kind === 'bundle');
      expect(bundle.record).toMatchObject({ task: { id: task.id }, proof });

      // As a process of its own, which nothing but the deletion keeps alive.
      const deletion = await run('svc-server', ['accounts', 'delete', wallet, '--yes', '--json'], {
        env: { ...env, PATH: process.env.PATH ?? '' },
      });
      expect([deletion.exitCode, deletion.stdout]).toEqual([
        0,
        `${JSON.stringify({ wallet, deleted: true })}\n`,
      ]);
      expect(await accounts('show', wallet, '--json')).toMatchObject([
        { wallet, robots: 0, suspended_at: expect.any(String) },
      ]);
      expect((await accounts('export', wallet)).map(({ kind }) => kind)).toEqual([
        'account',
        ...Array.from({ length: 3 }, () => 'ledger_entry'),
      ]);
      const check = await runInProcess('svc-server', ['check'], { env });
      expect(check.stdout).toBe('Every invariant holds.\n');
    });
  },
);
