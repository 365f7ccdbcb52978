import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkList } from '../../src/cli/trust/check-list.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../src/protocol/anchoring-accounts.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import vectors from '../fixtures/statements.json' with { type: 'json' };
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { edwards, type Signer } from '../support/statement-vectors.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

/** Accounts by the index of anvil's: the service uses the first two, the third is a stranger's. */
const keys = anvilAccounts.map(({ privateKey }) => privateKeyToAccount(privateKey));
const [own, second, stranger] = [0, 1, 2] as const;

let chain: TestChain;
let origin: Server;
let url: string;
let user: SvcUser;
/** What the origin states; it answers nothing else. */
let stated: AnchorsList | null;
let asked: number;

beforeAll(async () => {
  chain = await startTestChain();
  origin = createServer((_, response) => {
    asked += 1;
    response.statusCode = stated === null ? 404 : 200;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(stated ?? {}));
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
});
afterAll(async () => {
  origin.close();
  await chain.close();
});
beforeEach(async () => {
  asked = 0;
  user = await createSvcUser(url);
  stated = await listOf({ accounts: [await entryOf(own)] });
});
afterEach(() => user.remove());

async function entryOf(index: number, changes: Partial<ListedAccount> = {}) {
  const { address } = keys[index] as (typeof keys)[0];
  const entry = { chain_id: 31337, address, first_block: '0', last_block: null, ...changes };
  const signature = await keys[index]?.signMessage({ message: accountText(url, entry) });
  return { ...entry, signature: signature ?? null, ...changes } satisfies ListedAccount;
}

/** A list that these keys sign; the key of the first account unless given. */
async function listOf(
  changes: Pick<AnchorsList, 'accounts'> & Partial<AnchorsList>,
  by: readonly number[] = [own],
): Promise<AnchorsList> {
  const list = { format: 'svc-anchors/1' as const, origin: url, sequence: 1, ...changes };
  const signatures = by.map(async (index) => {
    const { address, signMessage } = keys[index] as (typeof keys)[0];
    return {
      address: address as string,
      signature: await signMessage({ message: listText(list) }),
    };
  });
  return { signatures: await Promise.all(signatures), ...list };
}

const promiseKey = ({ jwk, thumbprint }: Signer) => ({
  promise_key: { kid: thumbprint, public_key: jwk as { kty: 'OKP'; crv: 'Ed25519'; x: string } },
});
const [ownKey, otherKey] = [promiseKey(edwards(4)), promiseKey(edwards(5))];

const trust = (...args: string[]) => user.svc(['trust', ...args]);
const add = () => trust('add', url, '--yes');
const saved = async () =>
  JSON.parse(await readFile(user.file('config/trusted-services.json'), 'utf8'));
const sequence = async () => (await saved()).services[url].sequence;

let tasks = 0;

/** A receipt whose anchor this account sent. */
async function receiptOf(index: number): Promise<{ file: string; block: number }> {
  tasks += 1;
  const id = `01940000-0000-7000-8000-${String(tasks).padStart(12, '0')}`;
  const content = {
    proof_hash: hashProof({ picked: tasks }),
    task_id: id,
    robot_id: id,
    claim_hash: hashClaim({ title: 'Sort', created_at: '2026-11-21T00:00:00.000Z' }),
  };
  const from = keys[index]?.address;
  const data = encodePayload({
    kind: 'single',
    proof_hash: content.proof_hash,
    leaf: leafHash(content),
  });
  const tx = { from, to: from, data, gas: '0x186a0' };
  const tx_hash = await chain.rpc<string>('eth_sendTransaction', [tx]);
  await chain.mine();
  const head = ['latest', false] as const;
  const block = await chain.rpc<{ number: string; timestamp: string }>(
    'eth_getBlockByNumber',
    head,
  );
  const receipt: Verification = {
    format: 'svc-receipt/1',
    ...content,
    tx_hash,
    block_number: String(Number(block.number)),
    anchored_at: new Date(Number(block.timestamp) * 1000).toISOString(),
    status: 'verified',
    explorer_url: 'http://explorer.example',
    chain_id: 31337,
    inclusion: null,
    finality: 'included',
  };
  const file = user.file(`receipt-${tasks}.json`);
  await writeFile(file, JSON.stringify(receipt));
  return { file, block: Number(block.number) };
}

async function verify(file: string, ...args: string[]) {
  const all = ['verify', file, '--rpc-url', chain.url, '--json', ...args];
  const { exitCode, stdout } = await user.svc(all);
  const { verified, outcome, identity, identity_by: by, checks } = JSON.parse(stdout);
  const failed = (checks as { name: string; status: string }[])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);
  return { exitCode, verified, outcome, identity, by, failed };
}

const forgeries: [name: string, make: () => Promise<AnchorsList>][] = [
  [
    'an entry that another key signed',
    async () => {
      const { signature } = await entryOf(stranger);
      return listOf({ accounts: [await entryOf(own, { signature })] });
    },
  ],
  [
    'an entry that was signed for another origin',
    async () => {
      const entry = await entryOf(own);
      const text = accountText('https://before.example', entry);
      const signature = (await keys[own]?.signMessage({ message: text })) ?? null;
      return listOf({ accounts: [{ ...entry, signature }] });
    },
  ],
  [
    'an account that was put in after the list was signed',
    async () => {
      const list = await listOf({ accounts: [await entryOf(own)] });
      return { ...list, accounts: [...list.accounts, await entryOf(stranger)] };
    },
  ],
  [
    'a list that an account signed which is not in it',
    async () => listOf({ accounts: [await entryOf(own)] }, [stranger]),
  ],
  [
    'a list that a retired account signed',
    async () =>
      listOf({ accounts: [await entryOf(own, { last_block: '9' }), await entryOf(second)] }),
  ],
  [
    'a list that an account signed which is retired on another chain',
    async () =>
      listOf({
        accounts: [await entryOf(own), await entryOf(own, { chain_id: 1, last_block: '9' })],
      }),
  ],
  ['a list that no account signed', async () => listOf({ accounts: [await entryOf(own)] }, [])],
  [
    'an account twice',
    async () =>
      listOf({ accounts: [await entryOf(own), await entryOf(own, { first_block: '1' })] }),
  ],
  [
    'a promise key with the kid of another key',
    async () => {
      const promise_key = { ...ownKey.promise_key, kid: otherKey.promise_key.kid };
      return listOf({ accounts: [await entryOf(own, { promise_key })] });
    },
  ],
  [
    'a promise key that was put in after the list was signed',
    async () => {
      const list = await listOf({ accounts: [await entryOf(own)] });
      return { ...list, accounts: [await entryOf(own, ownKey)] };
    },
  ],
  [
    'the list of another origin',
    async () => listOf({ origin: 'https://other.example', accounts: [await entryOf(own)] }),
  ],
];

describe('a list of the test vectors', () => {
  const check = (list: object) => checkList(list as AnchorsList, 'https://svc.example.org');

  it.each(vectors.lists.good)('is accepted: $name', async ({ list }) => {
    await expect(check(list)).resolves.toBeUndefined();
  });

  it.each(vectors.lists.bad)('is refused: $name', async ({ list }) => {
    await expect(check(list)).rejects.toMatchObject({ code: 'list_refused' });
  });
});

describe('svc trust', () => {
  it('shows the addresses and asks before it saves', async () => {
    const piped = await trust('add', url);

    expect([piped.exitCode, piped.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(piped.stdout).toContain(keys[own]?.address);
    await expect(saved()).rejects.toThrow('ENOENT');
  });

  it('marks the accounts that only the origin states', async () => {
    stated = await listOf({
      accounts: [await entryOf(own), await entryOf(second, { signature: null })],
    });

    const { stdout } = await add();

    expect(stdout).toContain(`${keys[second]?.address}\t31337\t0\t\tthe origin only\n`);
  });

  it.each(forgeries)('refuses %s', async (_, make) => {
    stated = await make();

    const { exitCode, stderr } = await add();

    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('list of')]);
    await expect(saved()).rejects.toThrow('ENOENT');
  });

  it('refreshes to a list that a key of the saved one signed', async () => {
    await add();
    const retired = await entryOf(own, { last_block: '9' });
    const next = await entryOf(second);
    stated = await listOf({ sequence: 2, accounts: [await entryOf(own), next] }, [own, second]);
    const first = await trust('refresh', url);
    stated = await listOf({ sequence: 3, accounts: [retired, next] }, [second]);
    const then = await trust('refresh', url);

    expect([first.exitCode, then.exitCode, await sequence()]).toEqual([0, 0, 3]);
  });

  const setbacks: [name: string, make: () => Promise<AnchorsList>, says: RegExp][] = [
    [
      'a lower sequence',
      async () => listOf({ sequence: 4, accounts: await savedEntries() }),
      /sequence 4, below 5/,
    ],
    [
      'another list with the same sequence',
      async () =>
        listOf({ sequence: 5, accounts: [...(await savedEntries()), await entryOf(stranger)] }),
      /changed without a new sequence/,
    ],
    [
      'a removed account',
      async () => listOf({ sequence: 6, accounts: (await savedEntries()).slice(0, 1) }),
      /no longer has/,
    ],
    [
      'a raised last block',
      async () =>
        listOf({
          sequence: 6,
          accounts: [await entryOf(own, ownKey), await entryOf(second, { last_block: '10' })],
        }),
      /raises the last block/,
    ],
    [
      'a retired account that is in use again',
      async () =>
        listOf({ sequence: 6, accounts: [await entryOf(own, ownKey), await entryOf(second)] }),
      /raises the last block/,
    ],
    [
      'another first block',
      async () => {
        const moved = await entryOf(own, { first_block: '1' });
        return listOf({ sequence: 6, accounts: [moved, ...(await savedEntries()).slice(1)] });
      },
      /another first block/,
    ],
    [
      'an account without the signature that it had',
      async () => {
        const unsigned = await entryOf(own, { signature: null });
        return listOf({ sequence: 6, accounts: [unsigned, ...(await savedEntries()).slice(1)] });
      },
      /no longer has the signature/,
    ],
    [
      'another promise key',
      async () =>
        listOf({
          sequence: 6,
          accounts: [await entryOf(own, otherKey), ...(await savedEntries()).slice(1)],
        }),
      /promise key/,
    ],
    [
      'an account without the promise key that it had',
      async () =>
        listOf({
          sequence: 6,
          accounts: [await entryOf(own), ...(await savedEntries()).slice(1)],
        }),
      /promise key/,
    ],
    [
      'a list that only a new account signed',
      async () =>
        listOf({ sequence: 6, accounts: [...(await savedEntries()), await entryOf(stranger)] }, [
          stranger,
        ]),
      /svc trust remove/,
    ],
  ];
  const savedEntries = async () => [
    await entryOf(own, ownKey),
    await entryOf(second, { last_block: '9' }),
  ];

  it.each(setbacks)('refuses to refresh to %s', async (_, make, says) => {
    stated = await listOf({ sequence: 5, accounts: await savedEntries() });
    await add();
    stated = await make();

    const { exitCode, stderr } = await trust('refresh', url);

    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(says)]);
    expect(await sequence()).toBe(5);
  });

  it('refreshes to a list with a signature that an account did not have', async () => {
    const unsigned = await entryOf(own, { signature: null });
    stated = await listOf({ sequence: 5, accounts: [unsigned] });
    await add();
    stated = await listOf({ sequence: 6, accounts: [await entryOf(own)] });

    expect((await trust('refresh', url)).exitCode).toBe(0);
  });

  it('refreshes to a list with a promise key that an account did not have', async () => {
    await add();
    stated = await listOf({ sequence: 2, accounts: [await entryOf(own, ownKey)] });

    expect((await trust('refresh', url)).exitCode).toBe(0);
  });

  it('asks before it refreshes to a list with a new account that did not sign', async () => {
    await add();
    const unsigned = await entryOf(second, { signature: null });
    stated = await listOf({ sequence: 2, accounts: [await entryOf(own), unsigned] });

    const piped = await trust('refresh', url);
    expect([piped.exitCode, piped.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(piped.stdout).toContain('the origin only');
    expect(await sequence()).toBe(1);

    expect((await trust('refresh', url, '--yes')).exitCode).toBe(0);
    expect(await sequence()).toBe(2);
  });

  it('shows and refreshes the only saved service by default', async () => {
    await add();
    stated = await listOf({ sequence: 2, accounts: [await entryOf(own), await entryOf(second)] });

    const before = await trust('show', '--json');
    const refreshed = await trust('refresh');
    const after = await trust('show');

    expect(JSON.parse(before.stdout)).toMatchObject({ origin: url, sequence: 1 });
    expect([refreshed.exitCode, await sequence()]).toEqual([0, 2]);
    expect(after.stdout).toContain(keys[second]?.address);
  });

  it.each(['show', 'refresh'])(
    'needs a name for svc trust %s unless one is saved',
    async (name) => {
      const none = await trust(name);
      await add();
      const { services } = await saved();
      const others = { ...services, 'https://svc.example.org': services[url] };
      await writeFile(
        user.file('config/trusted-services.json'),
        JSON.stringify({ services: others }),
      );

      const two = await trust(name);

      expect([none.exitCode, none.stderr]).toEqual([
        5,
        expect.stringContaining('svc trust add URL'),
      ]);
      expect([two.exitCode, two.stderr]).toEqual([2, expect.stringContaining(url)]);
      expect(two.stderr).toContain('https://svc.example.org');
    },
  );

  it('removes a service, and rejects an unknown one', async () => {
    await add();

    const codes = [
      (await trust('remove', url)).exitCode,
      (await trust('remove', url)).exitCode,
      (await trust('refresh', url)).exitCode,
    ];

    expect(codes).toEqual([0, 5, 5]);
    expect((await saved()).services).toEqual({});
  });

  it('sets a damaged file aside, and deletes nothing', async () => {
    await add();
    await writeFile(user.file('config/trusted-services.json'), '{"services":{"x":{}}}');

    const { exitCode, stderr } = await trust('list');

    const files = await readdir(user.file('config'));
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('was set aside as')]);
    expect(files.filter((name) => name.includes('.damaged-'))).toHaveLength(1);
  });
});

describe('svc verify, by the named identity', () => {
  it('reports the anchor of a stranger as one of an unnamed account', async () => {
    const { file } = await receiptOf(stranger);
    await add();

    const found = await verify(file);

    expect(found).toMatchObject({ exitCode: 9, verified: false, identity: 'unnamed', by: null });
  });

  it('accepts the anchor of a saved service, and asks no service for it', async () => {
    const { file } = await receiptOf(own);
    await add();
    asked = 0;

    const found = await verify(file);

    const by = `the saved list of ${url}`;
    expect(found).toMatchObject({ exitCode: 0, verified: true, identity: 'named', by });
    expect(asked).toBe(0);
  });

  it('prefers the saved list of a service to what that service states now', async () => {
    const { file } = await receiptOf(stranger);
    await add();
    stated = await listOf({ sequence: 2, accounts: [await entryOf(own), await entryOf(stranger)] });
    asked = 0;

    const found = await verify(file, '--url', url);

    expect(found).toMatchObject({ exitCode: 3, identity: 'named', failed: ['sender'] });
    expect(asked).toBe(0);
    expect(await sequence()).toBe(1);
  });

  it('ignores other saved services if one is named', async () => {
    const { file } = await receiptOf(own);
    await add();
    const other = url.replace('127.0.0.1', 'localhost');
    stated = await listOf(
      { origin: other, accounts: [await entryOf(second, { signature: null })] },
      [second],
    );

    const found = await verify(file, '--url', other);

    expect(found).toMatchObject({ exitCode: 3, by: other, failed: ['sender'] });
  });

  describe('if the list of another service also claims the sender', () => {
    const other = 'https://other.example';
    /** Saves a list of the other service with the account of this one. */
    async function saveOther(entry: Partial<ListedAccount>, by: readonly number[] = [second]) {
      const { address } = keys[own] as (typeof keys)[0];
      const fields = { chain_id: 31337, address, first_block: '0', last_block: null };
      const claimed = { ...fields, signature: null, ...entry };
      const { services } = await saved();
      services[other] = await listOf({ origin: other, accounts: [claimed] }, by);
      await writeFile(user.file('config/trusted-services.json'), JSON.stringify({ services }));
    }

    it.each([[{ last_block: '0' }], [{}]])('verifies as before: %j', async (entry) => {
      const { file } = await receiptOf(own);
      await add();
      await saveOther(entry);

      const found = await verify(file);
      const { stderr } = await user.svc(['verify', file, '--rpc-url', chain.url]);

      expect(found).toMatchObject({ exitCode: 0, by: `the saved list of ${url}` });
      expect(stderr).toContain(`The saved list of ${other} names the sender without a signature`);
    });

    it('names no service if the sender signed no list', async () => {
      const { file } = await receiptOf(own);
      await add();
      await saveOther({});
      await trust('remove', url);

      expect(await verify(file)).toMatchObject({ exitCode: 9, identity: 'unnamed', by: null });
    });

    it('names both services if the sender signed both lists', async () => {
      const { file } = await receiptOf(own);
      await add();
      await saveOther({}, [own]);

      const by = `the saved list of ${url} and of ${other}`;
      expect(await verify(file)).toMatchObject({ exitCode: 0, by });
    });
  });

  it('prefers --anchor-address to any list', async () => {
    const { file } = await receiptOf(own);
    await add();

    const same = await verify(file, '--anchor-address', String(keys[own]?.address));
    const other = await verify(file, '--anchor-address', String(keys[second]?.address));

    expect(same).toMatchObject({ exitCode: 0, by: '--anchor-address' });
    expect(other).toMatchObject({ exitCode: 3, by: '--anchor-address', failed: ['sender'] });
  });

  it('uses the current statement of the service if its list is not saved', async () => {
    const { file } = await receiptOf(own);
    const strangers = await receiptOf(stranger);

    const found = await verify(file, '--url', url);
    const other = await verify(strangers.file, '--url', url);

    expect(found).toMatchObject({ exitCode: 0, by: url });
    expect(other).toMatchObject({ exitCode: 3, by: url, failed: ['sender'] });
  });

  it.each(forgeries)('accepts no statement of a service with %s', async (_, make) => {
    const { file } = await receiptOf(own);
    stated = await make();

    const args = ['verify', file, '--rpc-url', chain.url, '--url', url];
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toContain(`The list of ${url} `);
  });

  it('lets no service name the sender while the saved lists are damaged', async () => {
    const { file } = await receiptOf(own);
    await add();
    await writeFile(user.file('config/trusted-services.json'), '{"services":{"x":{}}}');
    asked = 0;

    for (const _ of ['when they are set aside', 'and later']) {
      const args = ['verify', file, '--rpc-url', chain.url, '--url', url];
      const { exitCode, stderr } = await user.svc(args);
      expect([exitCode, stderr]).toEqual([9, expect.stringContaining('svc trust add')]);
    }
    expect(asked).toBe(0);
    const named = await verify(file, '--anchor-address', String(keys[own]?.address));
    expect(named.exitCode).toBe(0);

    // Another service may have been in the damaged file too.
    await add();
    expect(await verify(file, '--url', url)).toMatchObject({ exitCode: 9 });
    const folder = user.file('config');
    const damaged = (await readdir(folder)).filter((name) => name.includes('.damaged-'));
    for (const name of damaged) await rm(path.join(folder, name));
    expect(await verify(file, '--url', url)).toMatchObject({ exitCode: 0 });
  });

  it('refuses an anchor after the last block of its account, and accepts earlier ones', async () => {
    const before = await receiptOf(own);
    const after = await receiptOf(own);
    const last_block = String(before.block);
    stated = await listOf(
      { accounts: [await entryOf(own, { last_block }), await entryOf(second)] },
      [second],
    );
    const statedNow = await verify(after.file, '--url', url);
    await add();

    expect(await verify(before.file)).toMatchObject({ exitCode: 0 });
    expect(await verify(after.file)).toMatchObject({ exitCode: 3, failed: ['sender'] });
    expect(statedNow).toMatchObject({ exitCode: 3, by: url, failed: ['sender'] });
  });

  it('does not accept an account of a saved service on another chain', async () => {
    const { file } = await receiptOf(own);
    stated = await listOf({ accounts: [await entryOf(own, { chain_id: 1 })] });
    await add();

    expect(await verify(file)).toMatchObject({ exitCode: 9, identity: 'unnamed' });
  });
});
