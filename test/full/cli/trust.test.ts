import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkList } from '../../../src/cli/trust/check-list.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { itHolds } from '../../support/property.ts';
import { createSvcUser, type SvcUser } from '../../support/svc.ts';

/** Accounts by the index of anvil's: the service uses the first two, the third is a stranger's. */
const keys = anvilAccounts.map(({ privateKey }) => privateKeyToAccount(privateKey));
const [own, second, stranger] = [0, 1, 2] as const;

let chain: TestChain;
let origin: Server;
let url: string;
let user: SvcUser;
/** What the origin states; it answers nothing else. */
let stated: AnchorsList | null;

beforeAll(async () => {
  chain = await startTestChain();
  origin = createServer((_, response) => {
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

const trust = (...args: string[]) => user.svc(['trust', ...args]);
const add = () => trust('add', url, '--yes');
const saved = async () =>
  JSON.parse(await readFile(user.file('config/trusted-services.json'), 'utf8'));
const sequence = async () => (await saved()).services[url].sequence;

describe('svc trust', () => {
  it('saves a list that its keys signed, readable by its owner only', async () => {
    const { exitCode, stdout } = await add();

    expect(exitCode).toBe(0);
    expect(stdout).toBe(`${url}\t${keys[own]?.address}\t31337\t0\t\tits key\n`);
    expect((await saved()).services[url]).toEqual(stated);
    expect((await stat(user.file('config/trusted-services.json'))).mode & 0o777).toBe(0o600);
    expect(await user.json('trust', 'list')).toEqual({ items: [stated] });
  });

  it('saves only after a person has typed the name of the service', async () => {
    const at = ['trust', 'add', url];
    const asked = /Type “.*” to go on: /;
    const other = await user.inTerminal(at, { typed: [[asked, 'other\n']] });
    await expect(saved()).rejects.toThrow('ENOENT');
    const own = await user.inTerminal(at, { typed: [[asked, `${new URL(url).host}\n`]] });

    expect([other.exitCode, own.exitCode]).toEqual([1, 0]);
    expect(own.screen).toMatch(/ADDRESS[\s\S]*source other than this service[\s\S]*Type “/);
    expect(await sequence()).toBe(1);
  });

  itHolds('refuses a signed list of which any fact was changed', 100, async (numRuns) => {
    const list = await listOf({ accounts: [await entryOf(own), await entryOf(second)] }, [second]);
    const changed = fc.record(
      {
        sequence: fc.integer({ min: 2 }),
        origin: fc.webUrl(),
        address: fc.constant(keys[stranger]?.address),
        chain_id: fc.integer({ min: 1, max: 31_336 }),
        first_block: fc.bigInt({ min: 1n }).map(String),
        last_block: fc.bigInt({ min: 0n }).map(String),
      },
      { requiredKeys: [] },
    );
    const property = fc.asyncProperty(changed, fc.boolean(), async (change, isFirst) => {
      fc.pre(Object.keys(change).length > 0);
      const { sequence: number = 1, origin: place = url, ...entry } = change;
      const accounts = list.accounts.map((one, i) =>
        (i === 0) === isFirst ? { ...one, ...entry } : one,
      );
      const forged = { ...list, accounts, sequence: number, origin: place } as AnchorsList;
      await expect(checkList(forged, place)).rejects.toMatchObject({ code: 'list_refused' });
    });
    await fc.assert(property, { numRuns });
  });
  const _savedEntries = async () => [
    await entryOf(own),
    await entryOf(second, { last_block: '9' }),
  ];
});
