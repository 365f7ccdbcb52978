import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SvcError } from '../../src/base/svc-error.ts';
import { openChain } from '../../src/chain/chain.ts';
import { ProviderError } from '../../src/chain/errors.ts';
import { connectRpc, type Rpc } from '../../src/chain/rpc.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const call = { method: 'eth_blockNumber', params: [] };
const SECRET = 'c0ffee0123456789project';

let proxy: RpcProxy;
let rpc: Rpc;

beforeEach(async () => {
  proxy = await startRpcProxy('http://127.0.0.1:1');
  rpc = connectRpc({ url: `${proxy.url}/v3/${SECRET}`, timeoutMs: 300 });
});

afterEach(async () => {
  await rpc.close();
  await proxy.close();
});

describe('an RPC URL', () => {
  it.each([
    ['cut connections', () => proxy.cut()],
    ['silence', () => proxy.hang()],
    ['HTTP 502', () => proxy.fail(502, `no ${SECRET} today`)],
    ['a redirect', () => proxy.fail(302, '', { location: `http://127.0.0.1/${SECRET}` })],
    ['nonsense', () => proxy.fail(200, `<html>${SECRET}</html>`)],
    ['a batch refused as one', () => proxy.fail(200, rpcError(`project ${SECRET} is over`))],
  ])('stays out of the error of %s', async (_what, misbehave) => {
    misbehave();

    const error = await rpc.reading([call, call]).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ code: 'chain_unavailable', retryable: true });
    expect(error).not.toHaveProperty('cause');
    expectNoSecret(error);
  });

  it('stays out of the stored reason of a refusal', async () => {
    proxy.fail(200, rpcError(`project ${SECRET} at ${proxy.url}/v3/${SECRET} may not`));

    const [answer] = await rpc.reading([call]);

    expect(answer).toMatchObject({ ok: false, refusal: { rpcCode: -32000 } });
    expectNoSecret(answer);
  });

  it('stays out of the error for a malformed one', () => {
    const open = () => openChain({ urls: [`ftp://user:${SECRET}@node`] });

    expect(open).toThrow(SvcError);
    expect(open).not.toThrow(new RegExp(SECRET));
  });

  it('with credentials that cannot be decoded is refused without quoting them', () => {
    const open = () => openChain({ urls: [`http://user:pa%ss${SECRET}@node`] });

    expect(open).toThrow(expect.objectContaining({ code: 'invalid_rpc_url' }));
    expect(open).not.toThrow(new RegExp(SECRET));
  });

  it('may carry credentials', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{"jsonrpc":"2.0","id":0,"result":"0x1"}');
    }).listen(0, '127.0.0.1');
    await waitFor('the server', () => server.listening);
    const address = server.address() as { port: number };
    const authenticated = connectRpc({ url: `http://user:p%40ss@127.0.0.1:${address.port}` });

    const answers = await authenticated.reading([call]);

    await authenticated.close();
    server.close();
    expect(answers).toEqual([{ ok: true, result: '0x1' }]);
    expect(seen).toEqual([`Basic ${Buffer.from('user:p@ss').toString('base64')}`]);
  });
});

describe('a request', () => {
  it('is sent once, whatever its outcome', async () => {
    proxy.fail(503);

    await expect(rpc.anchoring([call])).rejects.toThrow(ProviderError);

    expect(proxy.asked.requests).toBe(1);
  });

  it('reads a refusal that has an error status', async () => {
    proxy.fail(400, rpcError('nonce too low'));

    const [answer] = await rpc.anchoring([call]);

    expect(answer).toEqual({ ok: false, refusal: { rpcCode: -32000, reason: 'nonce too low' } });
  });

  it('ends when its signal aborts', async () => {
    proxy.hang();
    const abort = new AbortController();
    const patient = connectRpc({ url: proxy.url, timeoutMs: 60_000 });
    const asked = patient.anchoring([call], abort.signal);

    abort.abort();

    await expect(asked).rejects.toThrow(ProviderError);
    await patient.close();
  });

  it('puts batch answers in the order of the calls', async () => {
    proxy.fail(200, '[{"id":2,"result":"second"},{"id":1,"result":"first"}]');

    const answers = await rpc.reading([call, call]);

    expect(answers).toEqual([
      { ok: true, result: 'first' },
      { ok: true, result: 'second' },
    ]);
  });
});

describe('the lane of reads', () => {
  it('refuses with a retry time when it is full, and leaves the anchorer its own capacity', async () => {
    proxy.hang();
    const reads = Array.from({ length: 8 + 64 }, () => rpc.reading([call]).catch(() => 'gone'));
    await waitFor('the reads to arrive', () => proxy.asked.requests === 8);

    const refused = rpc.reading([call]);
    const anchoring = rpc.anchoring([call]).catch(() => 'gone');

    await expect(refused).rejects.toMatchObject({
      code: 'chain_unavailable',
      details: { retry_after: 1 },
    });
    await waitFor('the anchorer to be heard', () => proxy.asked.requests >= 9);
    await rpc.close();
    await Promise.all([...reads, anchoring]);
  });
});

function rpcError(message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32000, message } });
}

function expectNoSecret(value: unknown): void {
  const stack = value instanceof Error ? `${value.message}${value.stack}` : '';
  const text = `${stack}${JSON.stringify(value, Object.getOwnPropertyNames(Object(value)))}`;
  expect(text + JSON.stringify(value)).not.toContain(SECRET);
  expect(text + JSON.stringify(value)).not.toContain(new URL(proxy.url).host);
}
