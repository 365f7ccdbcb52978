import { writeFile } from 'node:fs/promises';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import type { AnchorMembers, FreeAnchor } from '../../src/proof/subject/anchor-members.ts';
import vectors from '../fixtures/signed-bundles.json' with { type: 'json' };
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { deploy, walletCode } from '../support/contract-wallet.ts';
import { owner, robotKey, signedBundle } from '../support/signed-bundles.ts';
import { documentOf } from '../support/signed-verdict.ts';
import { grantOf, newSigner } from '../support/signing-robot.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

/** No service, no node: an address where nothing listens. */
const nowhere = { env: { SVC_URL: 'http://127.0.0.1:9' } };
const account = ['--anchor-address', anvilAccounts[0].address];
const key = ['--robot-key', robotKey.thumbprint];
const named = (name: string) => {
  const found = [...vectors.good, ...vectors.bad].find((each) => each.name === name);
  return documentOf(found ?? { changes: [] }) as unknown as { anchor: AnchorMembers };
};
const good = named('a result that succeeded');
const unsigned = named('unsigned work, but the expected key');

let user: SvcUser;

beforeAll(async () => {
  user = await createSvcUser('http://127.0.0.1:9');
});

afterAll(() => user?.remove());

async function verify(bundle: object, ...args: string[]) {
  await writeFile(user.file('bundle.json'), JSON.stringify(bundle));
  return user.svc(['verify', user.file('bundle.json'), ...account, ...args], nowhere);
}

const offline = (bundle: { anchor: AnchorMembers }, ...args: string[]) =>
  verify(bundle, '--block-hash', bundle.anchor.block_hash, ...args);

describe('svc verify of a signed bundle, offline', () => {
  it('says who signed, what the robot stated, and what is not proven', async () => {
    const { exitCode, stdout, stderr } = await offline(
      named('a result that was aborted, with later numbers'),
    );

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Signed by key ${robotKey.thumbprint} of robot `);
    expect(stdout).toContain(', outcome aborted.\n');
    expect(stdout).toContain(`The wallet ${owner} put this key into use.\n`);
    expect(stdout).toContain('Not pinned: only this file states whose key it is.\n');
    expect(stdout).toContain(
      'Not proven: that the chain has the anchors of key and claim, in block 3, 4.',
    );
    expect(stdout).toContain('Not proven: that the claim came before the work, ');
  });

  it('verifies it for the expected owner and key', async () => {
    const { exitCode, stdout } = await offline(good, ...key, '--owner', owner);

    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('Not pinned');
  });

  it.each([
    [
      'another key',
      good,
      ['--robot-key', 'KFCmac1GGkQVmr90gJv9tN8z_1EM9RhTVnUD8iH2TDg'],
      'signed with another key than expected',
    ],
    ['another owner', good, ['--owner', anvilAccounts[2].address], 'another owner than expected'],
    ['no signature, for a key', unsigned, key, 'No robot signed this work'],
    ['no signature, for an owner', unsigned, ['--owner', owner], 'No robot signed this work'],
    ['a forged statement', named('a result signed by another key'), [], 'or not signed by the key'],
  ])('refuses %s', async (_, bundle, args, reason) => {
    const { exitCode, stdout } = await offline(bundle, ...args);

    expect(exitCode).toBe(3);
    expect(stdout).toContain(reason);
  });

  it('says that work is unsigned', async () => {
    const { exitCode, stdout } = await offline(unsigned);

    expect(exitCode).toBe(0);
    expect(stdout).toContain('Not proven: the identity of the robot (unsigned), the author');
  });

  it('does not call a smart-contract wallet valid', async () => {
    const { exitCode, stdout } = await offline(named('a smart-contract wallet'), ...key);

    expect(exitCode).toBe(0);
    expect(stdout).toContain('Wallet not checked: only a node can tell');
    expect(stdout).not.toContain('put this key into use');
  });

  it('reports the signature with --json', async () => {
    const signed = JSON.parse((await offline(good, '--json')).stdout);
    const without = JSON.parse((await offline(unsigned, '--json')).stdout);

    expect(signed.signing).toMatchObject({
      status: 'signed',
      key: robotKey.thumbprint,
      wallet: owner,
      wallet_check: 'signed',
      pinned: false,
      outcome: 'succeeded',
      numbers: { claim: 1, result: 2 },
    });
    expect(signed.checks).toContainEqual({
      name: 'claim_anchor',
      status: 'passed',
      detail: 'Anchored in block 4, at 2026-01-01T00:00:00.000Z',
    });
    expect(without.signing).toEqual({ status: 'unsigned' });
  });

  it.each([
    ['a hash', [`0x${'12'.repeat(32)}`, ...key], 'need a bundle (svc-bundle/3)'],
    ['a key that is no thumbprint', ['bundle.json', '--robot-key', '0x12'], '--robot-key must be'],
    [
      'an owner that is no address',
      ['bundle.json', '--owner', '0x12'],
      '--owner 0x12 is no address',
    ],
  ])('refuses a pin with %s as a wrong usage', async (_, [subject = '', ...args], message) => {
    await writeFile(user.file('bundle.json'), JSON.stringify(good));
    const name = subject.endsWith('.json') ? user.file(subject) : subject;

    const { exitCode, stderr } = await user.svc(['verify', name, ...args], nowhere);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('svc verify of a signed bundle, with a node', () => {
  let node: TestChain;

  beforeAll(async () => {
    node = await startTestChain();
  });
  afterAll(() => node?.close());

  /** Mines the transaction of an anchor, and states where it is now. */
  async function mine<Anchored extends Omit<FreeAnchor, 'inclusion'>>(anchored: Anchored) {
    const { chain_proof: _, ...rest } = anchored;
    const { anchor } = rest;
    const nonce = `0x${Number(anchor.block_number).toString(16)}`;
    await node.rpc('anvil_setNonce', [anchor.from, nonce]);
    await node.rpc('eth_sendRawTransaction', [anchor.raw_tx]);
    await node.mine();
    const block = await node.rpc<Record<'number' | 'hash' | 'timestamp', Hex>>(
      'eth_getBlockByNumber',
      ['latest', false],
    );
    const place = {
      block_number: String(Number(block.number)),
      block_hash: block.hash,
      tx_index: 0,
      anchored_at: new Date(Number(block.timestamp) * 1000).toISOString(),
    };
    return { ...rest, anchor: { ...anchor, ...place } };
  }

  async function onChain(grant: { wallet?: Hex }) {
    // biome-ignore lint/suspicious/noExplicitAny: members of the document that the test changes
    const bundle: any = await signedBundle({ grant });
    const { key: keyOf, claim } = bundle.signing;
    keyOf.anchor = await mine(keyOf.anchor);
    claim.anchor = await mine(claim.anchor);
    return mine(bundle);
  }

  const verifyThere = (bundle: object, ...args: string[]) =>
    verify(bundle, '--rpc-url', node.url, ...args);

  it('checks the anchors of key and claim on the chain', async () => {
    const bundle = await onChain({});
    const { claim } = (bundle as unknown as { signing: { claim: { anchor: FreeAnchor } } }).signing;

    const found = await verifyThere(bundle, ...key, '--owner', owner);
    expect([found.exitCode, found.stdout]).toEqual([0, expect.stringContaining('Signed by key')]);
    expect(found.stdout).not.toContain('that the chain has the anchors');

    claim.anchor = { ...claim.anchor, anchor: { ...claim.anchor.anchor, block_number: '1' } };
    const moved = await verifyThere(bundle);
    expect(moved.exitCode).toBe(3);
    expect(moved.stdout).toContain('Its anchor fails these checks: block_number');
  });

  it('asks a smart-contract wallet', async () => {
    const wallet = await deploy(node, anvilAccounts[2].address, walletCode(owner));
    const other = await deploy(
      node,
      anvilAccounts[2].address,
      walletCode(anvilAccounts[2].address as Hex),
    );

    const accepted = await verifyThere(await onChain({ wallet }), '--owner', wallet);
    const refused = await verifyThere(await onChain({ wallet: other }), '--owner', other);

    expect([accepted.exitCode, accepted.stdout]).toEqual([
      0,
      expect.stringContaining(`The wallet ${wallet} put this key into use.`),
    ]);
    expect(refused.exitCode).toBe(3);
    expect(refused.stdout).toContain("The owner's wallet did not sign the text of the key.");
  });

  it('asks the smart-contract wallet of an archive', async () => {
    const signer = privateKeyToAccount(anvilAccounts[1].privateKey);
    const statementsOf = async (wallet: Hex, ...args: string[]) => {
      const origin = 'https://svc.example.org';
      const robot_id = '01900000-0000-7000-8000-00000000000a';
      const key = newSigner();
      const text = grantOf({ origin, wallet, robot_id, next_number: 1, last: null, keys: [] }, key);
      const signature = await signer.signMessage({ message: text });
      const lines = [
        { format: 'svc-statements/1', origin, wallet, robot_id },
        { public_key: key.publicKey, text, signature, revocation: null },
      ];
      const file = user.file('archive.jsonl');
      await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return user.svc(['verify', file, '--owner', wallet, ...args], nowhere);
    };
    const accepting = await deploy(node, anvilAccounts[2].address, walletCode(owner));
    const other = walletCode(anvilAccounts[2].address as Hex);
    const refusing = await deploy(node, anvilAccounts[2].address, other);

    const accepted = await statementsOf(accepting, '--rpc-url', node.url);
    const refused = await statementsOf(refusing, '--rpc-url', node.url);
    const offline = await statementsOf(accepting);

    expect([accepted.exitCode, refused.exitCode, offline.exitCode]).toEqual([0, 3, 3]);
    expect(refused.stdout).toContain('The wallet did not sign the text of key');
    expect(offline.stdout).toContain('Wallet not checked');
  });
});
