import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyEmptySqlite } from '../support/empty-sqlite.ts';
import { runInProcess } from '../support/run-in-process.ts';

let folder: string;
let env: Record<string, string>;
let wallets = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-accounts-'));
  env = { SVC_DATA_DIR: folder };
  await copyEmptySqlite(path.join(folder, 'svc.db'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const server = (...args: string[]) => runInProcess('svc-server', args, { env });

function newWallet(): string {
  wallets += 1;
  return `0x${String(wallets).padStart(40, '0')}`;
}

async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await server(...args, '--json');
  expect([args, exitCode, stderr]).toEqual([args, 0, '']);
  return JSON.parse(stdout);
}

/** A wallet with an account of 5 anchors and 1 ETH. */
async function account(): Promise<string> {
  const wallet = newWallet();
  const amount = ['--anchors', '5', '--gas-eth', '1'];
  await json('credits', 'grant', wallet, ...amount, '--note', 'invoice 17', '--new');
  return wallet;
}

describe('svc-server credits grant', () => {
  it('needs --new for a wallet without an account, because the address may be mistyped', async () => {
    const grant = ['credits', 'grant', newWallet(), '--anchors', '5', '--note', 'n'];

    const refused = await server(...grant);
    const accounts = await server('accounts', 'list', '--json');
    const granted = await server(...grant, '--new');
    const again = await server(...grant);

    expect([refused.exitCode, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/has no account\.\n.*add --new\.\n$/);
    expect(accounts.stdout).not.toContain(grant[2]);
    expect([granted.exitCode, again.exitCode]).toEqual([0, 0]);
    expect(again.stdout).toMatch(/^anchor_quota\s+10$/m);
  });
});

describe('svc-server credits revoke', () => {
  it('takes credits back once per id, with a note in the ledger', async () => {
    const wallet = await account();
    const id = '0d5c9c3e-5f0b-4c55-9b45-9f2d0e1a7c11';
    const args = ['--anchors', '2', '--gas-eth', '0.25', '--note', 'refund 17', '--id', id];

    const revoked = await json('credits', 'revoke', wallet, ...args);
    const repeated = await json('credits', 'revoke', wallet, ...args);

    const balance = { anchor_quota: 3, gas_credit_wei: '750000000000000000' };
    expect(revoked).toMatchObject({ id, outcome: 'revoked', ...balance });
    expect(repeated).toMatchObject({ id, outcome: 'repeated', ...balance });
    const lines = (await server('accounts', 'export', wallet)).stdout.trim().split('\n');
    const exported = lines.map((line) => JSON.parse(line));
    const entries = exported.filter(({ kind }) => kind === 'ledger_entry');
    expect(entries.map(({ record }) => record)).toMatchObject([
      { kind: 'revoke', anchors: -2, gas_wei: '-250000000000000000', note: 'refund 17' },
      { kind: 'grant', anchors: 5 },
    ]);
    const audited = exported.filter(({ kind }) => kind === 'audit_entry');
    expect(audited.map(({ record }) => record.kind)).toContain('credits_revoked');
  });

  it.each([
    ['--anchors', '6'],
    ['--gas-wei', '1000000000000000001'],
  ])('takes nothing if the account has less than %s %s', async (...amount) => {
    const wallet = await account();

    const { exitCode, stderr } = await server(
      'credits',
      'revoke',
      wallet,
      ...amount,
      '--note',
      'n',
    );

    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('the account has 5 anchors and 1000000000000000000 wei (1 ETH)'),
    ]);
    expect(await json('credits', 'show', wallet)).toMatchObject({ anchor_quota: 5 });
  });
});

describe('a wallet without an account', () => {
  it.each([
    ['credits', 'show'],
    ['credits', 'revoke', '--anchors', '1', '--note', 'n'],
    ['accounts', 'show'],
    ['accounts', 'suspend'],
    ['accounts', 'resume'],
    ['accounts', 'export'],
    ['accounts', 'delete', '--yes'],
  ])(
    'is an error in svc-server %s %s, which creates no account',
    async (group, command, ...options) => {
      const wallet = newWallet();

      const { exitCode, stdout, stderr } = await server(group, command, wallet, ...options);

      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`The wallet ${wallet} has no account.`);
      expect((await server('accounts', 'list', '--json')).stdout).not.toContain(wallet);
    },
  );
});

describe('svc-server accounts delete', () => {
  it('reports that the data is deleted, even if it was deleted before', async () => {
    const wallet = await account();

    for (const _ of ['first', 'again']) {
      const { exitCode, stdout } = await server('accounts', 'delete', wallet, '--yes');
      expect([exitCode, stdout]).toEqual([0, `The data of ${wallet} is deleted.\n`]);
    }
  });
});

describe('svc-server accounts suspend', () => {
  it('changes the reason of a suspended account, which accounts show prints', async () => {
    const wallet = await account();

    const { suspended_at } = await json('accounts', 'suspend', wallet, '--reason', 'unpaid');
    await json('accounts', 'suspend', wallet, '--reason', 'unpaid since May');
    await json('accounts', 'suspend', wallet);

    const suspension_reason = 'unpaid since May';
    const shown = await json('accounts', 'show', wallet);
    expect(shown).toMatchObject({ suspended_at, suspension_reason });
    expect(await json('accounts', 'resume', wallet)).toMatchObject({ suspension_reason: null });
  });
});

describe('svc-server accounts export', () => {
  it('needs no RPC endpoint', async () => {
    const { exitCode, stdout, stderr } = await server('accounts', 'export', await account());

    expect([exitCode, stderr]).toEqual([0, '']);
    const kinds = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind);
    expect(kinds).toEqual(['account', 'ledger_entry', 'audit_entry']);
  });
});

describe('the name of the database', () => {
  it.each([
    ['is not printed', [], ''],
    ['is printed with --verbose', ['--verbose'], 'Database: '],
    ['is not printed into the JSON of an error', ['--verbose', '--json'], ''],
  ])('%s', async (_, options, printed) => {
    const { exitCode, stderr } = await server('check', ...options);

    expect([exitCode, stderr]).toEqual([0, printed && `${printed}${folder}/svc.db\n`]);
  });
});
