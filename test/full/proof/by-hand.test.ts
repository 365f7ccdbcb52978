import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';

const page = readFileSync(new URL('../../../docs/anchoring.md', import.meta.url), 'utf8');

const script = fileURLToPath(new URL('../../../examples/by-hand.sh', import.meta.url));

/** The value beside that name in the tables of the worked example. */
function cell(name: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} | \``));
  if (row === undefined) throw new Error(`The page has no ${name}`);
  return row.slice(`| ${name} | \``.length, -'` |'.length);
}

describe('the check by hand in examples/by-hand.sh', () => {
  let node: TestChain;
  beforeAll(async () => {
    node = await startTestChain();
  });
  afterAll(() => node?.close());

  const account = anvilAccounts[0].address;

  /** Runs the script and answers what it says. */
  async function byHand(transaction: object): Promise<string[]> {
    const TX = await node.rpc<string>('eth_sendTransaction', [
      { from: account, gas: '0x20000', ...transaction },
    ]);
    await node.mine();
    const child = spawn('bash', [script], {
      env: { PATH: process.env.PATH, RPC_URL: node.url, TX },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(errors).toBe('');
    return out.trim().split('\n');
  }

  it('finds the example in a transaction that carries it', async () => {
    const said = await byHand({ to: account, data: cell('calldata of this batch') });

    const block = await node.rpc<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false]);
    expect(said).toEqual([
      'the calldata is the payload',
      'nothing was sent',
      'an account to itself',
      'the transaction succeeded',
      'in a block of the chain',
      `sent by ${account.toLowerCase()} at ${Number(block.timestamp)}`,
    ]);
  });

  it('does not find it in a transfer of value to another account', async () => {
    const to = anvilAccounts[1].address;

    const said = await byHand({ to, value: '0x1', data: cell('calldata of a single') });

    expect(said.slice(0, -1)).toEqual(['the transaction succeeded', 'in a block of the chain']);
  });
});
