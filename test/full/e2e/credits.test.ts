import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { copyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

let database: TemporaryDatabase;
let session: pg.Client;

beforeEach(async () => {
  database = await copyDatabase();
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
});
afterEach(async () => {
  await session.end();
  await database.drop();
});

const grant = (start: typeof run, ...more: string[]) => {
  const args = ['credits', 'grant', WALLET, '--new', '--anchors', '5', '--note', 'test', ...more];
  return start('svc-server', args, { env: { SVC_DATABASE_URL: database.url } });
};

it('a grant whose commit is not acknowledged names the id to retry with, which grants once', async () => {
  await session.query(`
    CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER cut_at_commit AFTER INSERT ON ledger
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut()`);
  const cut = await grant(run);
  await session.query('DROP TRIGGER cut_at_commit ON ledger');
  const [, id = ''] = /--id ([0-9a-f-]{36})/.exec(cut.stderr) ?? [];

  const repeated = [await grant(run, '--id', id), await grant(runInProcess, '--id', id)];

  expect(cut).toMatchObject({ exitCode: 1, stdout: '' });
  for (const { exitCode, stdout } of repeated) {
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^anchor_quota\t5$/m)]);
  }
});

it.each([
  ['0.05', '50000000000000000'],
  ['1', '1000000000000000000'],
  ['0.000000000000000001', '1'],
])('a grant of %s ETH of gas is exact', async (given, gas_credit_wei) => {
  const { exitCode, stdout } = await grant(runInProcess, '--gas-eth', given, '--json');

  expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ gas_credit_wei })]);
});
