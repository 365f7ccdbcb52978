import { afterEach, describe, expect, it } from 'vitest';
import type { Search, SentAnchor } from '../../src/chain/find-mined.ts';
import type { NonceTrail } from '../../src/chain/find-nonce-use.ts';
import type { Place } from '../../src/chain/inclusion.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { holdTimers } from '../support/held-timers.ts';
import { type SeveralUrls, startSeveralUrls } from '../support/provider-urls.ts';
import type { Exchange, RpcProxy } from '../support/rpc-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

type Interception = Parameters<RpcProxy['intercept']>[0];

/** As a node that has just begun to follow its chain. */
const noFinalBlock: Interception = ({ params }) =>
  params[0] === 'safe' || params[0] === 'finalized' ? { result: null } : null;

let urls: SeveralUrls;

afterEach(() => urls.close());

const proxy = (i: number) => urls.proxies[i] as RpcProxy;
const rawOf = (anchor: SentAnchor): Hex => anchor.variants[0]?.rawTx ?? '0x';
const hashOf = (anchor: SentAnchor): Hex => anchor.variants[0]?.txHash ?? '0x';
const senderState = () => urls.chain.anchoring.senderState(subject());
const subject = () => ({
  identity: urls.identity,
  sender: urls.key.address,
  payload: urls.payload,
});
const find = (anchors: SentAnchor[], terms: Partial<Search> = {}) =>
  urls.chain.anchoring.findMined({ ...subject(), anchors, confirmations: 1n, ...terms });

/** As a node that has seen no block after the genesis. */
const stale: Interception = ({ method, params }) => {
  if (method === 'eth_blockNumber' || method === 'eth_getTransactionCount')
    return { result: '0x0' };
  if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') {
    return { result: null };
  }
  const isLater =
    method === 'eth_getBlockByNumber' && !['0x0', 'latest'].includes(String(params[0]));
  return isLater ? { result: null } : null;
};

/** Changes what the node answers to a method about that subject. */
async function lieAbout(method: string, params: unknown[], changes: object): Promise<Interception> {
  const answer = await urls.node.rpc<object>(method, params);
  return (call) =>
    call.method === method && call.params[0] === params[0]
      ? { result: { ...answer, ...changes } }
      : null;
}

async function placeOf(anchor: SentAnchor): Promise<Place> {
  const { mined } = (await find([anchor])).mined[0] as { mined: Omit<Place, 'id'> };
  return { ...mined, id: anchor.id };
}

describe('a mined anchor', () => {
  it('is settled by two URLs while a third does not answer', async () => {
    urls = await startSeveralUrls(3);
    const [anchor, next] = [await urls.mined(), await urls.sign()];
    proxy(2).hang();
    // The time-out.
    holdTimers(5_000);

    const { mined } = await find([anchor, next]);

    expect(mined).toMatchObject([{ id: anchor.id, outcome: 'success' }]);
  });

  it('counts if two of three URLs agree, whatever the third reports', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    proxy(0).intercept(
      await lieAbout('eth_getTransactionReceipt', [hashOf(anchor)], { status: '0x0' }),
    );

    const { mined } = await find([anchor]);

    expect(mined).toMatchObject([{ outcome: 'success' }]);
  });

  it('waits if two URLs report different things', async () => {
    urls = await startSeveralUrls(2);
    const anchor = await urls.mined();
    proxy(0).intercept(
      await lieAbout('eth_getTransactionReceipt', [hashOf(anchor)], { status: '0x0' }),
    );

    const { mined } = await find([anchor]);

    expect(mined).toMatchObject([{ outcome: 'shallow' }]);
  });

  it('waits while the second URL is behind', async () => {
    urls = await startSeveralUrls(2);
    const anchor = await urls.mined();
    proxy(1).intercept(stale);

    const found = await find([anchor]);

    expect(found.mined).toMatchObject([{ outcome: 'shallow' }]);
    expect(found.headNumber).toBe(0n);
  });

  it('does not count as mined if a URL at its block has no receipt', async () => {
    urls = await startSeveralUrls(2);
    const anchor = await urls.mined();
    proxy(1).intercept(({ method }) =>
      method === 'eth_getTransactionReceipt' ? { result: null } : null,
    );

    expect((await find([anchor])).mined).toEqual([]);
  });

  it('does not fail because of one URL', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    proxy(2).intercept(
      await lieAbout('eth_getTransactionReceipt', [hashOf(anchor)], { status: '0x0' }),
    );

    expect((await find([anchor])).mined).toMatchObject([{ outcome: 'success' }]);
  });
});

describe('an anchor that no block includes', () => {
  it('is known to no provider: if all are asked, one receipt is enough', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    for (const i of [0, 1]) {
      proxy(i).intercept(({ method }) =>
        method === 'eth_getTransactionReceipt' ? { result: null } : null,
      );
    }

    expect(await find([anchor])).toMatchObject({ mined: [], isUnanimous: false });
    expect((await find([anchor], { askAll: true })).mined).toMatchObject([{ outcome: 'shallow' }]);
  });

  it('counts as unknown only if all providers have answered', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.sign();
    expect(await find([anchor], { askAll: true })).toMatchObject({ mined: [], isUnanimous: true });

    proxy(2).cut();

    expect(await find([anchor], { askAll: true })).toMatchObject({ mined: [], isUnanimous: false });
  });
});

describe('the sender state of several URLs', () => {
  it('is the same whatever one of three reports', async () => {
    urls = await startSeveralUrls(3);
    await urls.mined();
    const honest = await senderState();
    const lies: Record<string, unknown> = {
      eth_getTransactionCount: '0x3e8',
      eth_getBalance: '0x0',
      eth_getCode: '0xef0100',
      eth_estimateGas: '0x1c9c380',
      eth_maxPriorityFeePerGas: '0x174876e80000',
      eth_call: `0x${'00'.repeat(24)}${'ff'.repeat(8)}`,
    };
    proxy(1).intercept(({ method }) => (method in lies ? { result: lies[method] } : null));

    expect(await senderState()).toEqual(honest);
  });

  it('has the higher gas and base fee and the lower tip of two', async () => {
    urls = await startSeveralUrls(2);
    const honest = await senderState();
    const answers: Record<string, string> = {
      eth_estimateGas: '0x186a0',
      eth_maxPriorityFeePerGas: '0x174876e80000',
    };
    proxy(1).intercept(({ method }) => (method in answers ? { result: answers[method] } : null));

    const { gas, maxPriorityFeePerGas } = await senderState();

    expect(gas).toMatchObject({ gas: 100_000n });
    expect(maxPriorityFeePerGas).toBe(honest.maxPriorityFeePerGas);
  });

  it('has the highest count and the lowest, and the newest head', async () => {
    urls = await startSeveralUrls(2);
    await urls.mined();
    proxy(0).intercept(stale);

    const { latestNonce, lowestNonce, headNumber } = await senderState();

    expect({ latestNonce, lowestNonce, headNumber }).toEqual({
      latestNonce: 1,
      lowestNonce: 0,
      headNumber: 1n,
    });
  });

  it('refuses nothing that one of them accepts', async () => {
    urls = await startSeveralUrls(2);
    const refuse: Interception = ({ method }) =>
      method === 'eth_estimateGas' ? { error: { code: 3, message: 'execution reverted' } } : null;
    proxy(0).intercept(refuse);
    expect((await senderState()).gas.outcome).toBe('estimated');

    proxy(1).intercept(refuse);

    expect((await senderState()).gas).toMatchObject({ outcome: 'refused', meaning: 'reverted' });
  });

  it('has code if any of them reports code', async () => {
    urls = await startSeveralUrls(2);
    proxy(1).intercept(({ method }) => (method === 'eth_getCode' ? { result: '0xef0100' } : null));

    expect((await senderState()).hasCode).toBe(true);
  });
});

describe('signed bytes', () => {
  const answerSend = (i: number, answer: ReturnType<Interception>) =>
    proxy(i).intercept(({ method }) => (method === 'eth_sendRawTransaction' ? answer : null));
  const refusal = (message: string) => ({ error: { code: -32000, message } });
  const send = async () => urls.chain.anchoring.broadcast(rawOf(await urls.sign()));

  it('go to all URLs', async () => {
    urls = await startSeveralUrls(3);

    expect((await send()).outcome).toMatch(/^(accepted|known)$/);

    for (const { asked } of urls.proxies) expect(asked.methods).toContain('eth_sendRawTransaction');
  });

  it('reach the chain although one URL accepts and drops them', async () => {
    urls = await startSeveralUrls(2);
    answerSend(0, { result: `0x${'00'.repeat(32)}` });

    await send();

    // The answer of the other one is not waited for.
    await waitFor('the bytes in the pool', async () => {
      const status = await urls.node.rpc<{ pending: string }>('txpool_status');
      return Number(status.pending) === 1;
    });
  });

  it.each([
    ['taken if any takes them', ['txpool is full', null], 'accepted'],
    ['with the nodes if any has them', ['already known', 'txpool is full'], 'known'],
    ['perhaps mined if any says so', ['nonce too low', 'txpool is full'], 'nonce_used'],
    ['refused if all refuse', ['txpool is full', 'transaction underpriced'], 'refused'],
    ['refused if all that answer refuse', ['transaction underpriced', 'Internal error'], 'refused'],
    ['perhaps sent if no URL tells', ['Internal error', 'Internal error'], 'unknown'],
  ])('are %s', async (_what, texts, outcome) => {
    urls = await startSeveralUrls(2);
    texts.forEach((text, i) => {
      if (text !== null) answerSend(i, refusal(text));
    });

    expect((await send()).outcome).toBe(outcome);
  });

  it('may have been sent if no URL answers', async () => {
    urls = await startSeveralUrls(2);
    for (const one of urls.proxies) one.cut();

    expect(await send()).toMatchObject({ outcome: 'unknown' });
  });
});

describe('inclusion', () => {
  const read = (places: Place[]) =>
    urls.chain.anchoring.readInclusion({ identity: urls.identity, places });
  const otherBlock = (number: bigint): Interception => {
    const hex = `0x${number.toString(16)}`;
    return ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === hex
        ? { result: { number: hex, hash: `0x${'ee'.repeat(32)}`, timestamp: '0x1' } }
        : null;
  };

  it('goes from included through safe to finalized', async () => {
    urls = await startSeveralUrls(2);
    const place = await placeOf(await urls.mined());
    const finality = async () => (await read([place])).inclusions[0]?.finality;

    expect(await finality()).toBe('included');
    await urls.node.mine();
    expect(await finality()).toBe('safe');
    await urls.node.mine();
    expect(await finality()).toBe('finalized');
  });

  it('answers for each place in order, for many at once', async () => {
    urls = await startSeveralUrls(1);
    const places: Place[] = [];
    for (let i = 0; i < 30; i += 1) places.push(await placeOf(await urls.mined()));
    const gone = { ...(places[7] as Place), blockHash: `0x${'ee'.repeat(32)}` as Hex };
    places[7] = gone;

    const { inclusions, heads } = await read(places);

    expect(inclusions.map(({ id }) => id)).toEqual(places.map(({ id }) => id));
    const replaced = inclusions.filter(({ standing }) => standing !== 'canonical');
    expect(replaced).toEqual([{ id: gone.id, standing: 'replaced', finality: 'included' }]);
    expect(heads).toEqual({ head: 30n, safe: 29n, finalized: 28n });
  });

  it('is unknown for a block that a node does not have yet', async () => {
    urls = await startSeveralUrls(1);
    const place = await placeOf(await urls.mined());
    proxy(0).intercept(stale);

    expect((await read([place])).inclusions).toMatchObject([{ standing: 'unknown' }]);
  });

  it('is not replaced while one URL still shows the block', async () => {
    urls = await startSeveralUrls(2);
    const place = await placeOf(await urls.mined());
    proxy(0).intercept(otherBlock(place.blockNumber));
    expect((await read([place])).inclusions).toMatchObject([{ standing: 'canonical' }]);

    proxy(1).intercept(otherBlock(place.blockNumber));

    expect((await read([place])).inclusions).toMatchObject([{ standing: 'replaced' }]);
  });

  it('is replaced after a real reorganization', async () => {
    urls = await startSeveralUrls(2);
    const place = await placeOf(await urls.mined());
    await urls.node.mine();
    await urls.node.rpc('anvil_reorg', [2, []]);

    expect((await read([place])).inclusions).toMatchObject([{ standing: 'replaced' }]);
  });

  it('is not final because of one URL', async () => {
    urls = await startSeveralUrls(2);
    const place = await placeOf(await urls.mined());
    await urls.node.mine();
    await urls.node.mine();
    proxy(1).intercept(({ params }) =>
      params[0] === 'finalized'
        ? { result: { number: '0x0', hash: urls.identity.blockHash, timestamp: '0x1' } }
        : null,
    );

    const { inclusions, heads } = await read([place]);

    expect(inclusions).toMatchObject([{ standing: 'canonical', finality: 'safe' }]);
    expect(heads).toEqual({ head: 3n, safe: 2n, finalized: 0n });
  });

  it('is not delayed by one URL of three that is behind', async () => {
    urls = await startSeveralUrls(3);
    const place = await placeOf(await urls.mined());
    await urls.node.mine();
    await urls.node.mine();
    proxy(0).intercept(stale);

    expect((await read([place])).inclusions).toMatchObject([{ finality: 'finalized' }]);
  });

  it('is judged by depth if it is configured', async () => {
    urls = await startSeveralUrls(1, { finalityDepth: 5 });
    const place = await placeOf(await urls.mined());
    const finality = async () => (await read([place])).inclusions[0]?.finality;

    const seen = [await finality()];
    for (let blocks = 2; blocks <= 5; blocks += 1) {
      await urls.node.mine();
      seen.push(await finality());
    }

    expect(seen).toEqual(['included', 'included', 'safe', 'safe', 'finalized']);
  });

  it('is judged by a depth of 64 blocks if the chain has no tags', async () => {
    urls = await startSeveralUrls(1);
    const place = await placeOf(await urls.mined());
    proxy(0).intercept(({ params }) =>
      params[0] === 'safe' || params[0] === 'finalized'
        ? { error: { code: -32602, message: 'invalid block tag' } }
        : null,
    );
    await urls.node.rpc('anvil_mine', ['0x3e']);
    expect((await read([place])).inclusions).toMatchObject([{ finality: 'safe' }]);

    await urls.node.mine();

    expect((await read([place])).inclusions).toMatchObject([{ finality: 'finalized' }]);
  });

  it('is judged by a depth of 64 blocks if a tag has had no block for that long', async () => {
    urls = await startSeveralUrls(1);
    const place = await placeOf(await urls.mined());
    proxy(0).intercept(noFinalBlock);
    await urls.node.rpc('anvil_mine', ['0x64']);
    expect((await read([place])).inclusions).toMatchObject([{ finality: 'included' }]);

    await urls.node.rpc('anvil_mine', ['0x40']);

    expect((await read([place])).inclusions).toMatchObject([{ finality: 'finalized' }]);
  });

  it('is unknown, and not judged by depth, while a tag that existed has no block', async () => {
    urls = await startSeveralUrls(1);
    const place = await placeOf(await urls.mined());
    await read([place]);
    proxy(0).intercept(noFinalBlock);
    await urls.node.rpc('anvil_mine', ['0x64']);
    await read([place]);
    await urls.node.rpc('anvil_mine', ['0x64']);

    const { inclusions, heads } = await read([place]);

    expect(inclusions).toMatchObject([{ finality: 'included' }]);
    expect(heads).toMatchObject({ safe: null, finalized: null });
  });

  it('is not judged by depth while a provider error hides the tags', async () => {
    urls = await startSeveralUrls(1);
    const place = await placeOf(await urls.mined());
    proxy(0).intercept(({ params }) =>
      params[0] === 'finalized' ? { error: { code: -32005, message: 'limit exceeded' } } : null,
    );

    await expect(read([place])).rejects.toMatchObject({ code: 'chain_unavailable' });
  });
});

describe('the transaction that used a nonce', () => {
  const find = (trail: NonceTrail | null = null) =>
    urls.chain.anchoring.findNonceUse({
      identity: urls.identity,
      sender: urls.key.address,
      nonce: 0,
      freeAt: Date.now(),
      trail,
    });

  it('is found by the transaction counts of old blocks, with its bytes', async () => {
    urls = await startSeveralUrls(1);
    await urls.node.rpc('anvil_mine', ['0x7']);
    const [variant] = (await urls.mined()).variants;
    await urls.node.rpc('anvil_mine', ['0x50']);

    const { use } = await find();

    expect(use).toMatchObject({
      blockNumber: 8n,
      isFinal: true,
      payload: urls.payload,
      signed: variant,
    });
    expect(urls.proxies[0]?.asked.methods.length).toBeLessThan(60);
  });

  it('is found from the lead of one URL, and then needs no state', async () => {
    urls = await startSeveralUrls(2);
    await urls.mined();
    await urls.node.rpc('anvil_mine', ['0x50']);
    proxy(1).intercept(({ method, params }) =>
      method === 'eth_getTransactionCount' && params[1] !== 'latest'
        ? { error: { code: -32000, message: 'missing trie node' } }
        : null,
    );
    const first = await find();
    expect(first.use).toBeNull();

    const second = await find(first.trail);

    expect(second.use).toMatchObject({ blockNumber: 1n, isFinal: true });
  });

  it('is null while the nonce is free', async () => {
    urls = await startSeveralUrls(1);
    await urls.node.rpc('anvil_mine', ['0x20']);

    expect(await find()).toEqual({ use: null, trail: { blocks: [], below: null } });
  });

  it('is final if every URL reports it as final', async () => {
    urls = await startSeveralUrls(2);
    await urls.mined();
    await urls.node.mine();
    await urls.node.mine();
    proxy(1).intercept(({ params }) =>
      params[0] === 'finalized'
        ? { result: { number: '0x0', hash: urls.identity.blockHash, timestamp: '0x1' } }
        : null,
    );

    expect((await find()).use).toMatchObject({ isFinal: false });
    proxy(1).restore();
    expect((await find()).use).toMatchObject({ isFinal: true });
  });

  it.each<[string, (url: number) => Promise<void>]>([
    ['shows another one', async (url) => proxy(url).handle(anotherHash)],
    ['does not answer', async (url) => proxy(url).cut()],
    [
      'is of another chain',
      async (url) =>
        proxy(url).intercept(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null)),
    ],
  ])('is not known while one URL of three %s', async (_what, misbehave) => {
    urls = await startSeveralUrls(3);
    await urls.mined();
    expect((await find()).use).not.toBeNull();

    await misbehave(2);

    expect((await find()).use).toBeNull();
    expect((await find()).use).toBeNull();
  });

  async function anotherHash({ calls, answer, forward }: Exchange): Promise<void> {
    const renamed = (tx: object) => ({ ...tx, hash: `0x${'de'.repeat(32)}` });
    answer(
      (await forward(calls)).map((one, i) => {
        if (!('result' in one) || calls[i]?.params[1] !== true) return one;
        const block = one.result as { transactions: object[] };
        return { result: { ...block, transactions: block.transactions.map(renamed) } };
      }),
    );
  }
});

describe('a public reading', () => {
  it('of a transaction in a block is accepted from two URLs', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    proxy(0).intercept(stale);

    const reading = await urls.chain.readAnchor(hashOf(anchor));

    expect(reading).toMatchObject({ confirmations: 1n, facts: { tx: { input: urls.payload } } });
  });

  it('has the lowest confirmations and finality of the URLs that agree', async () => {
    urls = await startSeveralUrls(2);
    const anchor = await urls.mined();
    await urls.node.mine();
    await urls.node.mine();
    proxy(0).intercept(({ method, params }) => {
      if (method === 'eth_blockNumber') return { result: '0x2' };
      return params[0] === 'finalized'
        ? { result: { number: '0x0', hash: urls.identity.blockHash, timestamp: '0x1' } }
        : null;
    });

    const reading = await urls.chain.readAnchor(hashOf(anchor));

    expect(reading).toMatchObject({ confirmations: 2n, finality: 'safe' });
  });

  it.each([
    ['two that differ', 2],
    ['two of three that are behind', 3],
  ])('is absent for %s', async (_what, count) => {
    urls = await startSeveralUrls(count);
    const anchor = await urls.mined();
    for (let i = 1; i < count; i += 1) proxy(i).intercept(stale);

    const reading = urls.chain.readAnchor(hashOf(anchor));

    await expect(reading).rejects.toMatchObject({
      code: 'chain_unavailable',
      details: { retry_after: 1 },
    });
  });

  it('is absent if two pairs of URLs disagree', async () => {
    urls = await startSeveralUrls(4);
    const anchor = await urls.mined();
    const lie = await lieAbout('eth_getTransactionByHash', [hashOf(anchor)], { input: '0x1234' });
    proxy(0).intercept(lie);
    proxy(1).intercept(lie);

    const reading = urls.chain.readAnchor(hashOf(anchor));

    await expect(reading).rejects.toMatchObject({ code: 'chain_unavailable' });
  });

  it('reports a transaction that all URLs do not know', async () => {
    urls = await startSeveralUrls(3);

    const reading = await urls.chain.readAnchor(`0x${'12'.repeat(32)}`);

    expect(reading).toMatchObject({ confirmations: null, facts: { tx: null, receipt: null } });
  });

  it('is not forged by one URL', async () => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    proxy(1).intercept(
      await lieAbout('eth_getTransactionByHash', [hashOf(anchor)], { input: '0x1234' }),
    );

    const reading = await urls.chain.readAnchor(hashOf(anchor));

    expect(reading.facts.tx?.input).toBe(urls.payload);
  });
});

describe('a contract’s signature', () => {
  const WALLET = '0x00000000000000000000000000000000000000f2';

  /** A node for which there is a wallet that accepts anything. */
  const accepting: Interception = ({ method }) => {
    if (method === 'eth_getCode') return { result: '0x01' };
    return method === 'eth_call' ? { result: '0x01' } : null;
  };
  const isAccepted = () =>
    urls.chain.isContractSignature(WALLET, 'sign in', `0x${'12'.repeat(40)}`);

  it.each([1, 2])('is accepted if all of %i URLs accept it', async (count) => {
    urls = await startSeveralUrls(count);
    for (const one of urls.proxies) one.intercept(accepting);

    expect(await isAccepted()).toBe(true);
  });

  it('is not accepted from one URL', async () => {
    urls = await startSeveralUrls(2);
    proxy(0).intercept(accepting);

    await expect(isAccepted()).rejects.toMatchObject({ code: 'chain_unavailable' });
  });
});
