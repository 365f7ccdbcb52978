import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { recoverWallet } from '../../src/chain/signatures.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const { address } = anvilAccounts[0];

describe('GET /.well-known/svc-anchors.json', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  const read = async (): Promise<AnchorsList> =>
    (await service.call('GET', '/.well-known/svc-anchors.json')).body;
  const signed = () =>
    waitFor('a signed list', async () => {
      const list = await read();
      return list.signatures.length > 0 && list;
    });

  it('lists the account before its first anchor, signed by its key', async () => {
    const list = await signed();

    const [entry] = list.accounts as [ListedAccount];
    expect(list).toMatchObject({ format: 'svc-anchors/1', origin: service.url, sequence: 1 });
    expect(entry).toMatchObject({ chain_id: 31337, address, last_block: null });
    const ofEntry = await recoverWallet(accountText(service.url, entry), entry.signature as Hex);
    const ofList = await recoverWallet(listText(list), list.signatures[0]?.signature as Hex);
    expect([ofEntry, ofList]).toEqual([address, address]);
  });

  it('may be cached for a minute, is read by any origin and counts toward no limit', async () => {
    const { headers } = await service.call('GET', '/.well-known/svc-anchors.json');

    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('does not pass on signatures that were made for another origin', async () => {
    await signed();
    const { baseUrl } = service.settings;
    onTestFinished(() => {
      service.settings.baseUrl = baseUrl;
    });

    service.settings.baseUrl = 'https://moved.test';

    const { origin, accounts, signatures } = await read();
    expect(origin).toBe('https://moved.test');
    expect(accounts).toMatchObject([{ address, signature: null }]);
    expect(signatures).toEqual([]);
  });

  it('is signed anew by the accounts in use when another account was added', async () => {
    await signed();
    const other = { chainId: 31337, address: anvilAccounts[1].address, firstBlock: 0n };

    await service.store.addAnchoringAccount({ ...other, statement: null });

    const list = await waitFor('the new signature', async () => {
      const now = await read();
      return now.sequence === 2 && now.signatures.length > 0 && now;
    });
    const [signature] = list.signatures;
    expect(list.accounts).toHaveLength(2);
    expect(await recoverWallet(listText(list), signature?.signature as Hex)).toBe(address);
  });

  it('is empty before the service anchored', async () => {
    const idle = await startTestService();
    onTestFinished(idle.close);

    const { body } = await idle.call('GET', '/.well-known/svc-anchors.json');

    expect(body).toMatchObject({ sequence: 0, accounts: [], signatures: [] });
  });
});
