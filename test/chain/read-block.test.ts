import { afterEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { type SeveralUrls, startSeveralUrls } from '../support/provider-urls.ts';

type Interception = Parameters<SeveralUrls['proxies'][number]['intercept']>[0];

let urls: SeveralUrls;

afterEach(() => urls.close());

/** The block of a new anchor, and answers that differ from the node's. */
async function mined() {
  const anchor = await urls.mined();
  const number = BigInt(await urls.node.rpc<string>('eth_blockNumber'));
  const params = [`0x${number.toString(16)}`, false];
  const block = await urls.node.rpc<{ hash: Hex; timestamp: string }>(
    'eth_getBlockByNumber',
    params,
  );
  const answering =
    (change: object | null): Interception =>
    ({ method, params: [at] }) =>
      method === 'eth_getBlockByNumber' && at === params[0]
        ? { result: change && { ...block, ...change } }
        : null;
  return { txHash: anchor.variants[0]?.txHash ?? '0x', number, block, answering };
}
const lie = (url: number, interception: Interception) => urls.proxies[url]?.intercept(interception);

describe('a block read by its number', () => {
  it('has hash, time and the hashes of its transactions', async () => {
    urls = await startSeveralUrls(1);
    const { txHash, number, block } = await mined();

    expect(await urls.chain.readBlock(number)).toEqual({
      hash: block.hash,
      timestamp: Number(block.timestamp) * 1000,
      transactions: new Set([txHash]),
    });
    expect(await urls.chain.readBlock(number + 1n)).toBeNull();
  });

  it.each([
    ['another hash', { hash: `0x${'12'.repeat(32)}` }],
    ['another time', { timestamp: '0x1' }],
    ['no block', null],
  ])('is what two of three report if the third reports %s', async (_, change) => {
    urls = await startSeveralUrls(3);
    const { txHash, number, block, answering } = await mined();
    lie(1, answering(change));

    const read = await urls.chain.readBlock(number);

    expect(read?.hash).toBe(block.hash);
    expect(read?.transactions).toEqual(new Set([txHash]));
  });

  it.each([
    ['leaves one out', { transactions: [] }],
    ['adds one', { transactions: [`0x${'12'.repeat(32)}`] }],
  ])('has no transaction that only one of three lists, if it %s', async (_, change) => {
    urls = await startSeveralUrls(3);
    const { txHash, number, block, answering } = await mined();
    lie(1, answering(change));

    const read = await urls.chain.readBlock(number);

    // Without the transaction, verification reads it and its receipt.
    expect(read?.hash).toBe(block.hash);
    expect([...(read?.transactions ?? [])].filter((tx) => tx !== txHash)).toEqual([]);
  });

  it('has the transactions that both URLs list', async () => {
    urls = await startSeveralUrls(2);
    const { txHash, number, answering } = await mined();
    lie(1, answering({ transactions: [txHash, `0x${'12'.repeat(32)}`] }));

    expect((await urls.chain.readBlock(number))?.transactions).toEqual(new Set([txHash]));
  });

  it.each([
    ['while only one of two has it', 2, null],
    ['while only one of three has it', 3, null],
  ])('is null %s', async (_, count, change) => {
    urls = await startSeveralUrls(count);
    const { number, answering } = await mined();
    for (let i = 1; i < count; i += 1) lie(i, answering(change));

    await expect(urls.chain.readBlock(number)).rejects.toMatchObject({
      code: 'chain_unavailable',
      details: { retry_after: 1 },
    });
  });

  it.each([{ number: '0x0' }, { transactions: 'none' }, { transactions: ['0x12'] }, { hash: 7 }])(
    'is null if the answer is malformed: %o',
    async (change) => {
      urls = await startSeveralUrls(1);
      const { number, answering } = await mined();
      lie(0, answering(change));

      await expect(urls.chain.readBlock(number)).rejects.toMatchObject({
        code: 'chain_unavailable',
      });
    },
  );
});

describe('the heads of the chain', () => {
  const behind: Interception = ({ method, params }) => {
    if (method === 'eth_blockNumber') return { result: '0x1' };
    return params[0] === 'safe' || params[0] === 'finalized' ? { result: null } : null;
  };

  it('are those that two URLs have reached', async () => {
    urls = await startSeveralUrls(2);
    for (let i = 0; i < 4; i += 1) await urls.node.mine();

    expect(await urls.chain.readHeads()).toEqual({ head: 4n, safe: 3n, finalized: 2n });
    lie(1, behind);
    expect(await urls.chain.readHeads()).toEqual({ head: 1n, safe: null, finalized: null });
  });

  it('are not known when one of two URLs answers', async () => {
    urls = await startSeveralUrls(2);
    urls.proxies[1]?.cut();

    await expect(urls.chain.readHeads()).rejects.toMatchObject({ code: 'chain_unavailable' });
  });
});

describe('a chain proof', () => {
  it('comes from any URL that has it, and is null only if all answer', async () => {
    urls = await startSeveralUrls(2);
    const { txHash, number, block } = await mined();
    const place = { blockNumber: number, blockHash: block.hash, txIndex: 0, txHash };
    const without: Interception = ({ method }) =>
      method === 'eth_getBlockByHash' ? { result: null } : null;

    lie(0, without);
    expect(await urls.chain.anchoring.chainProof(place)).not.toBeNull();
    lie(1, without);
    expect(await urls.chain.anchoring.chainProof(place)).toBeNull();
    urls.proxies[1]?.cut();
    await expect(urls.chain.anchoring.chainProof(place)).rejects.toMatchObject({
      code: 'chain_unavailable',
    });
  });
});
