import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { type Client, createClient } from '../../../src/client/client.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { leavesIn, scanAnchors } from '../../support/chain-scan.ts';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import {
  killServers,
  robotClient,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: string;
let chain: TestChain;
let target: TemporaryDatabase;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-move-'));
  chain = await startTestChain();
  target = await emptyDatabase();
});

afterEach(async () => {
  killServers();
  await chain.close();
  await target.drop();
  await rm(folder, { recursive: true, force: true });
});

afterAll(killServers);

const onSqlite = () => spawnServer({ dataDir: folder, rpcUrl: chain.url });

function onPostgres(baseUrl: string): Promise<ServerProcess> {
  // The same address: sessions are of it.
  const environment = { SVC_DATABASE_URL: target.url, SVC_PORT: new URL(baseUrl).port };
  return spawnServer({ dataDir: folder, rpcUrl: chain.url, environment });
}

function migrateStore(start: typeof run, from = `sqlite:${path.join(folder, 'svc.db')}`) {
  return start('svc-server', ['migrate-store', '--from', from, '--to', target.url]);
}

/** How often a count of tasks was changed: each is moved as it is, however many tasks a robot has. */
async function countedRowByRow(): Promise<number> {
  const session = new pg.Client({ connectionString: target.url });
  await session.connect();
  const { n_tup_upd } = await waitFor('the statistics', async () => {
    const { rows } = await session.query(
      `SELECT n_tup_ins::int, n_tup_upd::int FROM pg_stat_user_tables WHERE relname = 'task_counts'`,
    );
    return rows[0].n_tup_ins > 0 && rows[0];
  });
  await session.end();
  return n_tup_upd;
}

/** All that the account sees. */
async function everything(owner: Client, robotId: string) {
  const [account, ledger, robots, fleets, tasks, events, telemetry, series, stats] =
    await Promise.all([
      owner.call('getAccount'),
      owner.call('listLedger'),
      owner.call('listRobots'),
      owner.call('listFleets'),
      owner.call('listTasks'),
      owner.call('listEvents'),
      owner.call('readTelemetry', { params: { id: robotId } }),
      owner.call('readTelemetry', { params: { id: robotId }, query: { resolution: 'hour' } }),
      owner.call('getStats'),
    ]);
  const answers = { account, ledger, robots, fleets, tasks, events, telemetry };
  return {
    ...Object.fromEntries(Object.entries(answers).map(([name, { body }]) => [name, body])),
    // Both end now, so only what they hold is compared.
    series: 'points' in series.body && series.body.points,
    stats: Object.entries(stats.body).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.filter(isCount) : value,
    ]),
  };
}

/** An interval with something in it. */
const isCount = (interval: object) => Object.values(interval).some((n) => Number(n) > 0);

/** An account with something of everything: one task anchored, one handed in, one claimed. */
async function atWork(url: string) {
  const { owner, session } = await signInAt(url);
  const fleet = (await owner.call('createFleet', { body: { name: 'North', tags: ['a'] } })).body;
  const made = (await owner.call('createRobot', { body: { name: 'arm' } })).body;
  const id = made.robot.id;
  await owner.call('patchRobot', { params: { id }, body: { fleet_id: fleet.fleet.id } });
  const gone = (await owner.call('createRobot', { body: { name: 'gone' } })).body;
  await owner.call('deleteRobot', { params: { id: gone.robot.id } });
  const robot = robotClient(url, String(made.api_key));
  await robot.call('recordSamples', {
    body: { battery_pct: 81.5, state: 'busy', metrics: { speed: 0.1 } },
  });
  await robot.call('createEvent', { body: { event_type: 'bump', severity: 'warn' } });
  const claim = async (title: string) =>
    (await robot.call('createTask', { body: { title } })).body.task.id;
  return { owner, session, robot, robotId: id, apiKey: String(made.api_key), claim };
}

const mining = async <T>(work: Promise<T>): Promise<T> => {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  await waitFor('the work', async () => {
    await chain.mine();
    return isOver;
  });
  return over;
};

it('moves a service to PostgreSQL with all its data, and waiting proofs are anchored once', async () => {
  const before = await onSqlite();
  const { owner, robot, robotId, apiKey, session, claim } = await atWork(before.url);
  const anchored = await claim('Anchored');
  await mining(robot.call('completeTask', { params: { id: anchored }, body: { proof: { n: 1 } } }));
  // Final, so that nothing of it changes any more.
  await mining(
    waitFor('the anchor to be final', async () => {
      const { body } = await robot.call('getTask', { params: { id: anchored } });
      return body.anchor?.state === 'finalized';
    }),
  );
  const waiting = await claim('Waiting');
  await claim('Claimed');
  // No block comes any more: it is signed, or queued, when the server stops.
  const cut = robot
    .call('completeTask', { params: { id: waiting }, body: { proof: { n: 2 } } })
    .catch(() => null);
  await waitFor('the proof to be stored', async () => {
    const { body } = await robot.call('getTask', { params: { id: waiting } });
    return body.anchor?.state === 'submitted';
  });
  const seen = await everything(owner, robotId);
  await before.kill('SIGTERM');
  await cut;

  const moved = await migrateStore(run);

  expect(moved.stderr).not.toContain('Error');
  expect(moved).toMatchObject({ exitCode: 0 });
  expect(moved.stdout).toMatch(
    /^Copied \d+ rows to PostgreSQL, 127\.0\.0\.1:\d+\/svc_test_\w+ and compared each\.$/m,
  );
  expect(await countedRowByRow()).toBe(0);
  const after = await onPostgres(before.url);
  const sameOwner = createClient({ baseUrl: after.url, fetch, credential: { session } });
  expect(await everything(sameOwner, robotId)).toEqual(seen);
  const done = await robotClient(after.url, apiKey)
    .call('completeTask', { params: { id: waiting }, body: { proof: { n: 2 } } })
    .catch((error) => error);
  expect(done).toMatchObject({ code: 'completion_in_progress' });
  await mining(
    waitFor('the receipt', async () => {
      const { body } = await sameOwner.call('getTask', { params: { id: waiting } });
      return body.task.status === 'verified';
    }),
  );
  expect(leavesIn(await scanAnchors(chain.url))).toBe(2);
  expect(
    await run('svc-server', ['check'], { env: { SVC_DATABASE_URL: target.url } }),
  ).toMatchObject({ exitCode: 0, stdout: 'Every invariant holds.\n' });
});

it('prevents further use of the SQLite database', async () => {
  await (await onSqlite()).kill('SIGTERM');
  expect(await migrateStore(runInProcess)).toMatchObject({ exitCode: 0 });

  const { exitCode, stderr } = await runInProcess('svc-server', ['check'], {
    env: { SVC_DATA_DIR: folder },
  });

  expect(exitCode).toBe(1);
  expect(stderr).toContain('was moved to PostgreSQL, 127.0.0.1');
});

it('reports a repeated move as already done', async () => {
  await (await onSqlite()).kill('SIGTERM');
  expect(await migrateStore(runInProcess)).toMatchObject({ exitCode: 0 });

  const { exitCode, stderr } = await migrateStore(runInProcess);

  expect(exitCode).toBe(1);
  expect(stderr).toContain('An earlier run moved everything');
});

it('refuses a target with data, and does not change the SQLite database', async () => {
  await (await onSqlite()).kill('SIGTERM');
  const other = await spawnServer({
    dataDir: folder,
    rpcUrl: chain.url,
    environment: { SVC_DATABASE_URL: target.url },
  });
  await signInAt(other.url);
  await other.kill('SIGTERM');

  const { exitCode, stderr } = await migrateStore(runInProcess);

  expect(exitCode).toBe(1);
  expect(stderr).toContain('The target is not empty');
  await (await onSqlite()).kill('SIGTERM');
});

it('refuses a file that is not a database', async () => {
  const notes = path.join(folder, 'notes.txt');
  await writeFile(notes, 'Not a database, and longer than the header of one. '.repeat(4));

  const { exitCode, stderr } = await migrateStore(runInProcess, `sqlite:${notes}`);

  expect(exitCode).toBe(1);
  expect(stderr).toContain('notes.txt is not an SQLite database.');
});

it('refuses a path that does not identify a database', async () => {
  const { exitCode, stderr } = await migrateStore(runInProcess, path.join(folder, 'svc.db'));

  expect(exitCode).toBe(2);
  expect(stderr).toContain('--from must be sqlite:PATH');
});

it('refuses to move under a running server', async () => {
  const server = await onSqlite();

  const { exitCode, stderr } = await migrateStore(runInProcess);

  expect(exitCode).toBe(1);
  expect(stderr).toContain('Another svc-server uses the database');
  await server.kill('SIGTERM');
});
