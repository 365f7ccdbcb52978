import { afterEach, describe, expect, it } from 'vitest';
import { openChain } from '../../../src/chain/chain.ts';
import type { SentAnchor } from '../../../src/chain/find-mined.ts';
import { startTestChain } from '../../support/anvil.ts';
import { holdTimers } from '../../support/held-timers.ts';
import { type SeveralUrls, startSeveralUrls } from '../../support/provider-urls.ts';
import { type RpcProxy, startRpcProxy } from '../../support/rpc-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';

let urls: SeveralUrls;

afterEach(() => urls.close());

const senderState = () =>
  urls.chain.anchoring.senderState({
    identity: urls.identity,
    sender: urls.key.address,
    payload: urls.payload,
  });
const find = (anchor: SentAnchor) =>
  urls.chain.anchoring.findMined({
    identity: urls.identity,
    sender: urls.key.address,
    anchors: [anchor],
    confirmations: 1n,
  });
const proxy = (i: number) => urls.proxies[i] as RpcProxy;
const states = () => urls.chain.anchoring.providers().map(({ state }) => state);

const faults: [what: string, misbehave: (proxy: RpcProxy) => void][] = [
  ['ends connections', (one) => one.cut()],
  ['is silent', (one) => one.hang()],
  ['wants to be left alone', (one) => one.fail(429, '', { 'retry-after': '60' })],
  ['answers 502', (one) => one.fail(502, '<html>Bad Gateway</html>')],
  ['answers HTML', (one) => one.fail(200, '<html>Welcome</html>')],
  ['answers half of its JSON', (one) => one.fail(200, '[{"jsonrpc":"2.0","id":0,"resu')],
  ['redirects', (one) => one.fail(302, '', { location: 'http://127.0.0.1:1/' })],
];

describe.each([0, 1, 2])('with three URLs, if number %i', (i) => {
  it.each(faults)('%s, every call is answered soon', async (_what, misbehave) => {
    urls = await startSeveralUrls(3);
    const anchor = await urls.mined();
    const next = await urls.sign();
    misbehave(proxy(i));
    // The time-outs of a read and of signed bytes.
    holdTimers(5_000, 2_500);

    const [state, found, reading, sent, head] = await Promise.all([
      senderState(),
      find(anchor),
      urls.chain.readAnchor(anchor.variants[0]?.txHash ?? '0x'),
      urls.chain.anchoring.broadcast(next.variants[0]?.rawTx ?? '0x'),
      urls.chain.headNumber(),
    ]);

    expect(state).toMatchObject({ latestNonce: 1, lowestNonce: 1 });
    expect(found.mined).toMatchObject([{ outcome: 'success', mined: { blockNumber: 1n } }]);
    expect(reading).toMatchObject({ confirmations: 1n, finality: 'included' });
    expect(['accepted', 'known']).toContain(sent.outcome);
    expect(head).toBe(1n);
  });
});

describe('with two URLs, one of which does not answer', () => {
  it.each(faults)('because it %s, no anchor is settled or verified', async (_what, misbehave) => {
    urls = await startSeveralUrls(2, { timeoutMs: 3_000 });
    const anchor = await urls.mined();
    misbehave(proxy(1));

    const found = await find(anchor);
    const reading = urls.chain.readAnchor(anchor.variants[0]?.txHash ?? '0x');

    expect(found).toMatchObject({ mined: [{ outcome: 'shallow' }], isUnanimous: false });
    await expect(reading).rejects.toMatchObject({ code: 'chain_unavailable' });
    expect((await senderState()).latestNonce).toBe(1);
  });
});

describe('if no URL answers', () => {
  it('the error names each by its label and none by its address', async () => {
    urls = await startSeveralUrls(2);
    for (const one of urls.proxies) one.cut();

    const error = await senderState().catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({
      code: 'chain_unavailable',
      reason: expect.stringMatching(/^rpc-1: no connection .*; rpc-2: no connection/),
    });
  });

  it('they are called anyway, and answer as soon as one is back', async () => {
    urls = await startSeveralUrls(2);
    for (const one of urls.proxies) one.cut();
    await senderState().catch(() => 'down');

    proxy(1).restore();

    expect((await senderState()).latestNonce).toBe(0);
  });
});

describe('a URL with errors', () => {
  it('is paused, asked for its chain, and used again', async () => {
    urls = await startSeveralUrls(2);
    proxy(0).cut();
    await senderState();
    await waitFor('the fault', () => states()[0] === 'unhealthy');
    const before = proxy(0).asked.requests;
    await senderState();
    expect(proxy(0).asked.requests).toBe(before);
    proxy(0).restore();
    proxy(0).asked.methods.length = 0;

    await waitFor('the probe', async () => {
      await senderState();
      return states()[0] === 'healthy';
    });

    expect(proxy(0).asked.methods.slice(0, 2)).toEqual(['eth_chainId', 'eth_getBlockByNumber']);
  });

  it('has a lower score', async () => {
    urls = await startSeveralUrls(2);
    proxy(0).cut();
    await senderState();
    await waitFor('the fault', () => states()[0] === 'unhealthy');

    const [faulty, healthy] = urls.chain.anchoring.providers();

    expect(faulty).toMatchObject({
      label: 'rpc-1',
      lastReason: expect.stringContaining('no conn'),
    });
    expect(healthy).toMatchObject({ label: 'rpc-2', state: 'healthy', lastReason: null });
    expect(faulty?.score).toBeLessThan(healthy?.score ?? 0);
  });

  it('is paused for as long as it asks, even if it is the only one', async () => {
    urls = await startSeveralUrls(1);
    proxy(0).fail(429, '', { 'retry-after': '1' });
    await senderState().catch(() => 'refused');
    const before = proxy(0).asked.requests;
    proxy(0).restore();

    await expect(senderState()).rejects.toMatchObject({ details: { retry_after: 1 } });

    expect(proxy(0).asked.requests).toBe(before);
    await waitFor('the end of its rest', () => senderState().catch(() => null));
  });

  it('that reports a rate limit inside its answers is paused as well', async () => {
    urls = await startSeveralUrls(2);
    proxy(0).intercept(() => ({
      error: { code: -32005, message: 'project ID request rate exceeded' },
    }));

    await senderState();

    await waitFor('the fault', () => states()[0] === 'unhealthy');
  });

  it('only in its pool is still asked for receipts', async () => {
    const failed: string[] = [];
    urls = await startSeveralUrls(2, {
      timeoutMs: 2_000,
      onAsked: ({ calls, error }) => error && failed.push(...calls.map(({ method }) => method)),
    });
    const [anchor, next] = [await urls.mined(), await urls.sign()];
    proxy(1).hangOn('eth_sendRawTransaction');
    const sent = await urls.chain.anchoring.broadcast(next.variants[0]?.rawTx ?? '0x');
    await waitFor('its time-out', () => failed.includes('eth_sendRawTransaction'));

    // Known, where the URL that does not answer was first to hand the bytes on.
    expect(sent.outcome).toMatch(/^(accepted|known)$/);
    expect((await find(anchor)).mined).toMatchObject([{ outcome: 'success' }]);
    expect(states()).toEqual(['healthy', 'healthy']);
  });

  it('that is slow is waited for once', async () => {
    urls = await startSeveralUrls(2, { timeoutMs: 3_000 });
    proxy(1).hang();
    await senderState();
    // How long a slow URL is waited for, and the time-out.
    holdTimers(250, 3_000);

    for (let i = 0; i < 12; i += 1) await expect(senderState()).resolves.toBeDefined();
  });
});

describe('a URL of another chain', () => {
  async function startStranger() {
    const node = await startTestChain({ chainId: 31338 });
    const stranger = await startRpcProxy(node.url);
    const close = async () => {
      await stranger.close();
      await node.close();
    };
    return { stranger, close };
  }

  it('is excluded, and its answers do not count', async () => {
    urls = await startSeveralUrls(2);
    const anchor = await urls.mined();
    const { stranger, close } = await startStranger();
    const chain = openChain({ urls: [...urls.proxies.map(({ url }) => url), stranger.url] });
    const { identity, key, payload } = urls;

    const state = await chain.anchoring.senderState({ identity, sender: key.address, payload });
    await waitFor('its answer', () => chain.anchoring.providers()[2]?.state === 'wrong_chain');
    const before = stranger.asked.requests;
    const reading = await chain.readAnchor(anchor.variants[0]?.txHash ?? '0x');

    expect(state.lowestNonce).toBe(1);
    expect(reading).toMatchObject({ confirmations: 1n });
    expect(stranger.asked.requests).toBe(before);
    await chain.close();
    await close();
  });

  it('makes the chain unknown until a chain is configured', async () => {
    urls = await startSeveralUrls(1);
    const { stranger, close } = await startStranger();
    const chain = openChain({ urls: [proxy(0).url, stranger.url] });

    await expect(chain.anchoring.identity()).rejects.toMatchObject({ code: 'chain_mismatch' });

    expect(await chain.anchoring.identity(undefined, urls.identity)).toEqual(urls.identity);
    await chain.close();
    await close();
  });

  it('that is the only one is refused for every call', async () => {
    urls = await startSeveralUrls(1);
    const anchor = await urls.mined();
    const { stranger, close } = await startStranger();
    const chain = openChain({ urls: [stranger.url] });
    const { identity, key, payload } = urls;

    const state = chain.anchoring.senderState({ identity, sender: key.address, payload });
    await expect(state).rejects.toMatchObject({ code: 'chain_mismatch' });
    const reading = chain.readAnchor(anchor.variants[0]?.txHash ?? '0x');
    await expect(reading).rejects.toMatchObject({ code: 'chain_unavailable' });
    const sent = await chain.anchoring.broadcast(anchor.variants[0]?.rawTx ?? '0x');
    expect(sent).toMatchObject({ outcome: 'unknown' });
    expect(stranger.asked.methods).not.toContain('eth_sendRawTransaction');

    await chain.close();
    await close();
  });

  it('counts again as soon as its chain is correct', async () => {
    urls = await startSeveralUrls(2);
    proxy(1).intercept(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null));
    await senderState();
    await waitFor('the mismatch', () => states()[1] === 'wrong_chain');

    proxy(1).restore();

    await waitFor('the probe', async () => {
      await senderState();
      return states()[1] === 'healthy';
    });
  });
});
