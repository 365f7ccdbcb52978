import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyEmptySqlite } from '../../support/empty-sqlite.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { runInTerminal } from '../../support/terminal.ts';

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const REASON = 'unpaid since May, and the owner answers no mail';

let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-tables-'));
  env = { SVC_DATA_DIR: folder };
  await copyEmptySqlite(path.join(folder, 'svc.db'));
  const amount = ['--anchors', '5', '--gas-eth', '0.25'];
  await piped('credits', 'grant', WALLET, '--new', ...amount, '--note', 'n');
  await piped('accounts', 'suspend', WALLET, '--reason', REASON);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const piped = async (...args: string[]) => (await runInProcess('svc-server', args, { env })).stdout;

async function onTerminal(args: string[], columns: number, more: Record<string, string> = {}) {
  const run = { program: 'svc-server', env: { ...env, ...more }, columns } as const;
  return (await runInTerminal(args, run)).screen.trimEnd().split(/\r?\n/);
}

it('prints a table with a header on a terminal, cut at the width of the terminal', async () => {
  const plain = { NO_COLOR: '1' };
  const [header, row, ...rest] = await onTerminal(['accounts', 'list'], 250, plain);
  const [, cut = ''] = await onTerminal(['accounts', 'list'], 160, plain);

  expect(header).toMatch(/^WALLET {37} QUOTA +GAS +ROBOTS .* SUSPENDED +REASON$/);
  expect(row).toMatch(/^0xf39F\w+ +5 +0\.25 ETH +0 .* \d{4}-\d\d-\d\d [\d:]+Z +unpaid since/);
  expect([rest, row?.endsWith(REASON)]).toEqual([[], true]);
  expect([cut.length <= 160, cut.endsWith('…')]).toEqual([true, true]);
});

it('shows the amounts of an account also in ETH on a terminal', async () => {
  const lines = await onTerminal(['accounts', 'show', WALLET], 250, { NO_COLOR: '1' });

  const eth = '250000000000000000 (0.25 ETH, 250000000 gwei)';
  expect(lines).toContainEqual(
    expect.stringMatching(/^uncovered_wei_30_days +0 \(0 ETH, 0 gwei\)$/),
  );
  expect(lines.some((line) => /^gas_credit_wei /.test(line) && line.endsWith(eth))).toBe(true);
});

it('prints the header in bold, unless NO_COLOR is set', async () => {
  const [colored] = await onTerminal(['accounts', 'list'], 250);
  const [plain] = await onTerminal(['accounts', 'list'], 250, { NO_COLOR: '1' });

  expect(colored).toContain('\u001b[1m');
  expect(plain).not.toContain('\u001b[');
});

it('prints tab-separated values without a header, and plain numbers, into a pipe', async () => {
  const [list, balance] = [await piped('accounts', 'list'), await piped('credits', 'show', WALLET)];

  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const wei = '250000000000000000';
  expect(list.split('\n').map((line) => line.split('\t'))).toEqual([
    [WALLET, '5', wei, '0', '0', '0', '0', '0', '0', at, REASON],
    [''],
  ]);
  expect(balance).toBe(`wallet\t${WALLET}\nanchor_quota\t5\ngas_credit_wei\t${wei}\n`);
});

it('prints all fields of an account with --json, one object per line', async () => {
  const [line = '', ...rest] = (await piped('accounts', 'list', '--json')).split('\n');

  expect(JSON.parse(line)).toMatchObject({ wallet: WALLET, suspension_reason: REASON });
  expect(rest).toEqual(['']);
});
