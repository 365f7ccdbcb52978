import { afterEach, describe, expect, it } from 'vitest';
import type { SentAnchor } from '../../../src/chain/find-mined.ts';
import type { RpcProxy } from '../../support/rpc-proxy.ts';
import { type SeveralUrls, startSeveralUrls } from '../../support/several-urls.ts';
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

describe('with two URLs, one of which answers no more', () => {
  it.each(faults)('because it %s, nothing is settled or verified', async (_what, misbehave) => {
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

describe('a URL with faults', () => {
  it('is left alone for as long as it asks, when it is the only one too', async () => {
    urls = await startSeveralUrls(1);
    proxy(0).fail(429, '', { 'retry-after': '1' });
    await senderState().catch(() => 'refused');
    const before = proxy(0).asked.requests;
    proxy(0).mend();

    await expect(senderState()).rejects.toMatchObject({ details: { retry_after: 1 } });

    expect(proxy(0).asked.requests).toBe(before);
    await waitFor('the end of its rest', () => senderState().catch(() => null));
  });

  it('in its pool only is asked for receipts still', async () => {
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
});
