import { recoverMessageAddress } from 'viem';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
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

// Each test sees the list that the ones before it left.
describe('GET /.well-known/svc-anchors.json', { shuffle: false }, () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  const read = async (): Promise<AnchorsList> =>
    (await service.call('GET', '/.well-known/svc-anchors.json')).body;
  const listed = () =>
    waitFor('the account', async () => {
      const list = await read();
      return list.accounts.length > 0 && list;
    });

  it('lists the account before its first anchor, signed by its key', async () => {
    const list = await listed();

    const [entry] = list.accounts as [ListedAccount];
    expect(list).toMatchObject({ format: 'svc-anchors/1', origin: service.url, sequence: 1 });
    expect(entry).toMatchObject({ chain_id: 31337, address, last_block: null });
    const ofEntry = await recoverMessageAddress({
      message: accountText(service.url, entry),
      signature: entry.signature as Hex,
    });
    const ofList = await recoverMessageAddress({
      message: listText(list),
      signature: list.signatures[0]?.signature as Hex,
    });
    expect([ofEntry, ofList]).toEqual([address, address]);
  });

  it('may be cached for a minute, is read by any origin and counts toward no limit', async () => {
    const { headers } = await service.call('GET', '/.well-known/svc-anchors.json');

    expect(headers.get('cache-control')).toBe('public, max-age=60');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('has no signature of an account that signed for another origin', async () => {
    const { baseUrl } = service.settings;
    onTestFinished(() => {
      service.settings.baseUrl = baseUrl;
    });

    service.settings.baseUrl = 'https://moved.test';

    const { origin, accounts, signatures } = await read();
    expect(origin).toBe('https://moved.test');
    expect(accounts).toMatchObject([{ address, signature: null }]);
    const [ofList] = signatures;
    const text = listText(await read());
    expect(
      await recoverMessageAddress({ message: text, signature: ofList?.signature as Hex }),
    ).toBe(address);
  });

  it('is signed again by the accounts in use when another account was added', async () => {
    await listed();
    const other = { chainId: 31337, address: anvilAccounts[1].address, firstBlock: 0n };

    const unsigned = { signature: null, origin: null, promiseKey: null };
    await service.store.addAnchoringAccount({ ...other, ...unsigned });

    const list = await read();
    expect([list.sequence, list.accounts.length]).toEqual([2, 2]);
    expect(list.signatures.map((one) => one.address)).toEqual([address]);
    const { signature } = list.signatures[0] as { signature: Hex };
    expect(await recoverMessageAddress({ message: listText(list), signature })).toBe(address);
  });

  it('is empty before the service anchored', async () => {
    const idle = await startTestService();
    onTestFinished(idle.close);

    const { body } = await idle.call('GET', '/.well-known/svc-anchors.json');

    expect(body).toMatchObject({ sequence: 0, accounts: [], signatures: [] });
  });
});
