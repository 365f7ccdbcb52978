import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../support/rpc-proxy.ts';
import { startTestService, type TestRobot, type TestService } from '../support/service.ts';
import type { Reply } from '../support/wire.ts';

describe('the reads of a public verification', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeEach(async () => {
    service = await startTestService({
      chain: 'mining',
      rpcProxy: true,
      verifyPerSecond: 200,
      trustedProxies: ['127.0.0.1'],
    });
    ({ robot } = await service.signInWithRobot());
  });
  afterEach(() => service.close());

  async function anchored() {
    const { body } = await service.complete(robot, await service.claim(robot));
    return body.verification;
  }

  const verify = ({ proof_hash }: { proof_hash: string }, source = '192.0.2.1') =>
    service.call('GET', `/api/v1/verify/${proof_hash}`, { headers: { 'x-forwarded-for': source } });

  /** How often the node was asked for each of the methods while `work` ran. */
  async function asked(methods: readonly string[], work: () => Promise<unknown>) {
    const before = service.proxy.asked.methods.length;
    await work();
    const calls = service.proxy.asked.methods.slice(before);
    return methods.map((method) => calls.filter((one) => one === method).length);
  }

  const READS = ['eth_getTransactionReceipt', 'eth_getBlockByHash', 'eth_getBlockReceipts'];

  it('are two calls per block of fresh anchors, even from many sources at once, and none when repeated', async () => {
    const receipts: Awaited<ReturnType<typeof anchored>>[] = [];
    for (let i = 0; i < 8; i += 1) receipts.push(await anchored());
    const all = () =>
      Promise.all(
        receipts.flatMap((receipt, i) =>
          [0, 1].map((n) => verify(receipt, `192.0.2.${2 * i + n}`)),
        ),
      );
    const replies: Reply[] = [];

    const first = await asked(READS, async () => replies.push(...(await all())));
    const second = await asked(READS, async () => replies.push(...(await all())));

    expect(new Set(receipts.map(({ block_number }) => block_number)).size).toBe(8);
    expect(replies.map(({ body }) => body.verified)).toEqual(replies.map(() => true));
    expect([first, second]).toEqual([
      [0, 8, 8],
      [0, 0, 0],
    ]);
  });

  it('include the block at the number each time', async () => {
    const receipt = await anchored();
    const at = `0x${BigInt(receipt.block_number).toString(16)}`;
    const numbers: unknown[] = [];
    service.proxy.handle(async ({ calls, forward, answer }) => {
      // The anchorer asks for it together with what identifies the chain.
      if (calls.length === 1 && calls[0]?.method === 'eth_getBlockByNumber') {
        numbers.push(calls[0].params[0]);
      }
      answer(await forward(calls));
    });

    for (let i = 0; i < 3; i += 1) await verify(receipt);

    expect(numbers).toEqual([at, at, at]);
  });

  it.each([
    ['the chain has no block at the number', 0],
    ['the chain has another block at the number', 5],
  ])('detect that a proof is no longer verified: %s', async (_, mined) => {
    const receipt = await anchored();
    const before = await verify(receipt);
    const depth =
      BigInt((await service.rpc('eth_blockNumber')) as string) - BigInt(receipt.block_number) + 1n;
    await service.rpc('anvil_rollback', [Number(depth)]);
    // The next block has another time than the one that was removed, so another hash.
    await service.rpc('evm_increaseTime', [60]);
    for (let i = 0; i < mined; i += 1) await service.rpc('evm_mine');

    const after = await verify(receipt);

    expect(before.body.verified).toBe(true);
    expect(after).toMatchObject({ status: 200, body: { verified: false } });
  });

  type Lie = (method: string, honest: Record<string, unknown>) => Answer | null;
  const change =
    (changed: string, by: (honest: Record<string, unknown>) => unknown): Lie =>
    (method, honest) =>
      method === changed ? { result: by(honest) } : null;
  const receiptsOf = (honest: unknown) => honest as Record<string, unknown>[];

  it.each<[string, Lie]>([
    ['no block', change('eth_getBlockByHash', () => null)],
    ['no receipts', change('eth_getBlockReceipts', () => null)],
    ['too few receipts', change('eth_getBlockReceipts', () => [])],
    ['another header', change('eth_getBlockByHash', (block) => ({ ...block, gasUsed: '0x1' }))],
    ['no transactions', change('eth_getBlockByHash', (block) => ({ ...block, transactions: [] }))],
    [
      'another transaction',
      change('eth_getBlockByHash', (block) => ({
        ...block,
        transactions: receiptsOf(block.transactions).map((tx) => ({ ...tx, input: '0x' })),
      })),
    ],
    [
      'a receipt of another status',
      change('eth_getBlockReceipts', (list) =>
        receiptsOf(list).map((receipt) => ({ ...receipt, status: '0x0' })),
      ),
    ],
    [
      'a receipt with a log that is not under the root',
      change('eth_getBlockReceipts', (list) =>
        receiptsOf(list).map((receipt) => ({
          ...receipt,
          logs: [{ address: `0x${'11'.repeat(20)}`, topics: [], data: '0x' }],
        })),
      ),
    ],
    [
      'an error',
      (method) =>
        method === 'eth_getBlockReceipts'
          ? { error: { code: -32601, message: 'the method does not exist' } }
          : null,
    ],
  ])('cache nothing that a node does not prove: %s', async (_, lie) => {
    const receipt = await anchored();
    service.proxy.handle(async ({ calls, forward, answer }) => {
      const honest = await forward(calls);
      answer(
        honest.map((one, i) => {
          const { result } = one as { result: Record<string, unknown> };
          return lie(calls[i]?.method ?? '', result) ?? one;
        }),
      );
    });

    const lied = await asked(READS, async () => {
      for (let i = 0; i < 2; i += 1) expect((await verify(receipt)).body.verified).toBe(true);
    });
    service.proxy.restore();
    const honest = await asked(READS, async () => {
      for (let i = 0; i < 2; i += 1) expect((await verify(receipt)).body.verified).toBe(true);
    });

    // The transaction's own receipt is read each time, as for any anchor without a proof.
    expect(lied[0]).toBe(2);
    expect(lied[1]).toBe(2);
    expect(honest).toEqual([0, 1, 1]);
  });

  it('return the proven status, whatever the node reports about the transaction', async () => {
    const receipt = await anchored();
    service.proxy.intercept(({ method }) =>
      method === 'eth_getTransactionReceipt' ? { result: null } : null,
    );

    expect((await verify(receipt)).body.verified).toBe(true);
  });

  it.each<[string, () => void]>([
    ['HTTP 429', () => service.proxy.fail(429)],
    ['HTTP 429 that names a time', () => service.proxy.fail(429, '', { 'retry-after': '7' })],
    [
      'an error of JSON-RPC',
      () =>
        service.proxy.intercept(() => ({ error: { code: 429, message: 'request rate limited' } })),
    ],
  ])(
    'report an exhausted limit of the provider, not an unreachable chain: %s',
    async (_, limit) => {
      const receipt = await anchored();
      limit();

      const replies = [await verify(receipt), await verify(receipt)];

      expect(replies.map(({ status, body }) => [status, body.error])).toEqual([
        [503, 'overloaded'],
        [503, 'overloaded'],
      ]);
      service.proxy.restore();
    },
  );
});
