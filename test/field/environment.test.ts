// What the environment of a program says of the network: proxies.

import { Agent, EnvHttpProxyAgent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectionsTo } from '../../src/base/proxy/connections.ts';
import { openChain } from '../../src/chain/chain.ts';
import { createSender, createSenders } from '../../src/server/core/webhooks/webhook-relay.ts';
import { connectionRule, connectionRules } from '../../src/server/rules/webhooks.ts';
import { createTestAgent } from '../support/agent.ts';
import { startTestChain } from '../support/anvil.ts';
import { localhostCertificate as certificate } from '../support/certificate.ts';
import { type HttpProxy, startHttpProxy } from '../support/http-proxy.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const PASSWORD = 'p@ss:w0rd';
const CREDENTIALS = `robot:${encodeURIComponent(PASSWORD)}`;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
afterEach(() => {
  vi.unstubAllEnvs();
});

/** A proxy in front of the service, whatever the name. */
async function openProxy(options: Partial<Parameters<typeof startHttpProxy>[0]> = {}) {
  const port = Number(new URL(service.url).port);
  const proxy = await startHttpProxy({ portOf: () => port, ...options });
  onTestFinished(() => proxy.close());
  return proxy;
}

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** The environment, with the address of a proxy as HOST:PORT. */
  env(proxy: string): Record<string, string>;
  /** The service, without its port. */
  host?: string;
}

const proxied: Row[] = [
  {
    name: 'HTTP_PROXY',
    report: 'fastagent-sh/fastagent 474, Shopify/ucp-cli 37',
    env: (proxy) => ({ HTTP_PROXY: `http://${proxy}` }),
  },
  { name: 'http_proxy', report: 'of our own', env: (proxy) => ({ http_proxy: `http://${proxy}` }) },
  {
    name: 'http_proxy before HTTP_PROXY',
    report: 'of our own',
    env: (proxy) => ({ http_proxy: `http://${proxy}`, HTTP_PROXY: 'http://127.0.0.1:9' }),
  },
  {
    name: 'HTTP_PROXY next to an empty http_proxy',
    report: 'modelstudioai/cli 51',
    env: (proxy) => ({ http_proxy: '', HTTP_PROXY: `http://${proxy}` }),
  },
  {
    name: 'an address without http://, as curl takes it',
    report: 'of our own',
    env: (proxy) => ({ HTTP_PROXY: proxy }),
  },
  {
    name: 'NO_PROXY for other hosts',
    report: 'of our own',
    env: (proxy) => ({ HTTP_PROXY: proxy, NO_PROXY: 'internal, .other.test' }),
  },
];

const direct: Row[] = [
  ...['127.0.0.1', 'localhost'].map((host) => ({
    name: `the service is at ${host}`,
    report: 'of our own',
    env: (proxy: string) => ({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy }),
    host,
  })),
  { name: 'no variable is set', report: 'of our own', env: () => ({}), host: '127.0.0.1' },
];

const excepted: Row[] = [
  {
    name: 'NO_PROXY',
    report: 'of our own',
    env: (proxy) => ({ HTTP_PROXY: proxy, NO_PROXY: 'svc.invalid' }),
  },
  {
    name: 'no_proxy, with its domain',
    report: 'of our own',
    env: (proxy) => ({ HTTP_PROXY: proxy, no_proxy: '.invalid' }),
  },
  {
    name: 'NO_PROXY for all',
    report: 'of our own',
    env: (proxy) => ({ HTTP_PROXY: proxy, NO_PROXY: '*' }),
  },
];

describe('svc', () => {
  const health = (url: string, env: Record<string, string>, ...more: string[]) =>
    runInProcess('svc', ['doctor', '--json', '--insecure-http', '--url', url, ...more], { env });
  const checksOf = ({ stdout }: { stdout: string }) =>
    Object.fromEntries(
      JSON.parse(stdout).checks.map(({ name, ...rest }: { name: string }) => [name, rest]),
    );

  it.each(proxied)('uses the proxy with $name', async ({ env }) => {
    const proxy = await openProxy();

    const checks = checksOf(await health('http://svc.invalid', env(proxy.address)));

    expect(checks.service).toMatchObject({ ok: true });
    expect(checks.proxy.detail).toContain(`HTTP_PROXY http://${proxy.address}`);
    expect(new Set(proxy.forwarded)).toEqual(new Set(['svc.invalid']));
  });

  it.each(direct)('connects directly if $name', async ({ env, host }) => {
    const proxy = await openProxy();
    const { port } = new URL(service.url);

    const checks = checksOf(await health(`http://${host}:${port}`, env(proxy.address)));

    expect(checks.service).toMatchObject({ ok: true });
    expect(proxy.forwarded).toEqual([]);
    // The public endpoint of the service for wallets is not on this machine.
    expect(proxy.tunnels.filter((target) => target !== 'rpc.test:443')).toEqual([]);
  });

  it.each(excepted)('does not use the proxy for a host of $name', async ({ env }) => {
    const proxy = await openProxy();

    const checks = checksOf(await health('http://svc.invalid', env(proxy.address)));

    expect(checks.service).toMatchObject({ ok: false });
    expect([...proxy.forwarded, ...proxy.tunnels]).toEqual([]);
  });

  it.each([
    ['http://10.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3:8545', 'internal, 192.168.0.0/16 10.0.0.0/8'],
    ['https://[fd00::1]', 'fd00::/8'],
    ['https://[fd00::1]', '[fd00::]/8,[fd00::1]'],
    ['https://[fd00::1]', 'fd00::1'],
    ['https://[::ffff:10.1.2.3]', '10.0.0.0/8'],
    ['https://93.184.216.34', '0.0.0.0/0'],
    ['http://localhost.', ''],
    ['http://svc.localhost', ''],
    ['http://svc.localhost.:8545', ''],
    ['http://0.0.0.0:8545', ''],
    ['http://127.1', ''],
    ['http://[::]', ''],
    ['http://[::1]', ''],
    ['http://[::ffff:127.0.0.1]', ''],
  ])('has no proxy to %s with NO_PROXY=%j', (url, NO_PROXY) => {
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    vi.stubEnv('NO_PROXY', NO_PROXY);

    expect(connectionsTo(url)).toBeInstanceOf(Agent);
  });

  it.each([
    ['http://11.1.2.3', '10.0.0.0/8'],
    ['http://10.1.2.3', '10.0.0.0/'],
    ['http://10.1.2.3', '10.0.0.0/33, 10.0.0.0/-1, 10.0.0.0/8/8, /8, 10.0.0/8, fd00::/129'],
    ['http://10.example', '10.0.0.0/8'],
    ['http://[fd00::1]', 'fe80::/10'],
    ['http://notlocalhost', ''],
    ['http://localhost.example', ''],
    ['http://[::ffff:10.1.2.3]', '127.0.0.0/8'],
  ])('has a proxy to %s with NO_PROXY=%j', (url, NO_PROXY) => {
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    vi.stubEnv('NO_PROXY', NO_PROXY);

    expect(connectionsTo(url)).toBeInstanceOf(EnvHttpProxyAgent);
  });

  it('tunnels https', async () => {
    const proxy = await openProxy();

    await health('https://svc.invalid', { HTTPS_PROXY: proxy.url });

    expect(new Set(proxy.tunnels)).toEqual(new Set(['svc.invalid:443']));
  });

  it('authenticates at the proxy, and shows no credentials', async () => {
    const proxy = await openProxy({ credentials: `robot:${PASSWORD}` });
    const env = { HTTP_PROXY: `http://${CREDENTIALS}@${proxy.address}` };

    const answer = await health('http://svc.invalid', env);

    const checks = checksOf(answer);
    expect(checks.service).toMatchObject({ ok: true });
    expect(checks.proxy.detail).toBe(`HTTP_PROXY http://***@${proxy.address}`);
    expect(answer.stdout + answer.stderr).not.toMatch(/w0rd|robot/);
  });

  it.each(['http', 'https'])(
    'does not show credentials that the proxy refuses, for %s',
    async (scheme) => {
      const proxy = await openProxy({ credentials: `robot:${PASSWORD}` });
      const at = `http://wrong:s3cret@${proxy.address}`;

      const { stdout, stderr } = await health(`${scheme}://svc.invalid`, {
        HTTP_PROXY: at,
        HTTPS_PROXY: at,
      });

      expect(checksOf({ stdout }).service.ok).toBe(false);
      expect(stdout + stderr).not.toMatch(/s3cret|wrong:/);
    },
  );

  it.each([
    ['no URL', 'http://robot:s3cret@proxy.invalid:99999'],
    ['with a user that cannot be decoded', 'http://us%er:s3cret@127.0.0.1:3128'],
    ['with a password that cannot be decoded', 'http://robot:s3cret%zz@127.0.0.1:3128'],
    ['of another kind', 'socks5://robot:s3cret@127.0.0.1:1080'],
  ])('names the variable whose value is %s, without the value', async (_, value) => {
    const answer = await health('https://svc.invalid', { HTTPS_PROXY: value });

    const { proxy, service: found } = checksOf(answer);
    expect(proxy.detail).toMatch(/^HTTPS_PROXY is not the address of an HTTP proxy/);
    expect(found.detail).toBe(proxy.detail);
    expect(answer.stdout + answer.stderr).not.toContain('s3cret');
  });
});

describe('svc-agent', () => {
  it('tunnels to the service, and answers on its socket without the proxy', async () => {
    const proxy = await openProxy({ portOf: () => null });
    vi.stubEnv('HTTPS_PROXY', `http://${CREDENTIALS}@${proxy.address}`);
    const agent = await createTestAgent({
      url: 'https://svc.invalid',
      apiKey: `svc_${'a'.repeat(40)}`,
    });
    onTestFinished(() => agent.remove());
    await agent.start();

    await waitFor('a tunnel', () => proxy.tunnels.length > 0);
    const status = await agent.status();

    expect(new Set(proxy.tunnels)).toEqual(new Set(['svc.invalid:443']));
    expect(proxy.forwarded).toEqual([]);
    expect(JSON.stringify(status) + agent.logLines.join('')).not.toMatch(/w0rd|robot:/);
  });

  it('does not start with an invalid proxy address', async () => {
    vi.stubEnv('https_proxy', 'http://robot:s3cret@:1:2');
    const agent = await createTestAgent({
      url: 'https://svc.invalid',
      apiKey: `svc_${'a'.repeat(40)}`,
    });
    onTestFinished(() => agent.remove());

    const error = await agent.start().catch((thrown) => thrown);

    expect(error).toMatchObject({ code: 'invalid_configuration' });
    expect(`${error.message} ${error.hint} ${error.stack}`).not.toContain('s3cret');
  });

  it('shows in doctor which proxy it uses, without credentials', async () => {
    const proxy = await openProxy({ portOf: () => null });
    const agent = await createTestAgent({
      url: 'https://svc.invalid',
      apiKey: `svc_${'a'.repeat(40)}`,
    });
    onTestFinished(() => agent.remove());
    const env = {
      ...agent.environment,
      https_proxy: `http://${CREDENTIALS}@${proxy.address}`,
      NO_PROXY: 'internal.invalid',
    };

    const { stdout, stderr } = await runInProcess('svc-agent', ['doctor', '--json'], { env });

    const checks = JSON.parse(stdout).checks;
    expect(checks).toContainEqual({
      name: 'proxy',
      ok: true,
      detail: `HTTPS_PROXY http://***@${proxy.address}, NO_PROXY internal.invalid`,
    });
    expect(proxy.tunnels).toContain('svc.invalid:443');
    expect(stdout + stderr).not.toMatch(/w0rd|robot:/);
  });
});

describe('the RPC of the server', () => {
  it('uses the proxy with its credentials', async () => {
    const anvil = await startTestChain();
    const port = Number(new URL(anvil.url).port);
    const proxy = await openProxy({ portOf: () => port, credentials: `robot:${PASSWORD}` });
    vi.stubEnv('HTTP_PROXY', `http://${CREDENTIALS}@${proxy.address}`);
    const chain = openChain({ urls: ['http://node.invalid:8545'] });
    onTestFinished(() => chain.close());

    expect(await chain.headNumber()).toBeGreaterThanOrEqual(0n);
    expect(new Set(proxy.forwarded)).toEqual(new Set(['node.invalid:8545']));
  });

  it.each(['127.0.0.1', 'localhost'])('connects directly to a node at %s', async (host) => {
    const anvil = await startTestChain();
    const proxy = await openProxy();
    vi.stubEnv('HTTP_PROXY', proxy.url);
    const chain = openChain({ urls: [`http://${host}:${new URL(anvil.url).port}`] });
    onTestFinished(() => chain.close());

    await chain.headNumber();

    expect(proxy.forwarded).toEqual([]);
  });
});

describe('webhooks', () => {
  const PUBLIC = '93.184.216.34';
  const mayConnect = connectionRule(['127.0.0.1']);

  async function scene(found: string[], options: { proxy?: string } = {}) {
    const receiver = await startReceiver(certificate);
    const proxy = await openProxy({ portOf: () => receiver.port });
    const sender = createSender({
      mayConnect,
      ca: certificate.cert,
      resolve: async () => found,
      proxy: options.proxy?.replace('PROXY', proxy.address) ?? proxy.url,
    });
    onTestFinished(async () => {
      sender.close();
      await receiver.close();
    });
    const post = (host: string) => sender.post(`https://${host}/hook`, {}, '{}');
    return { receiver, proxy, post };
  }

  it('ask the proxy for the checked address, and the receiver for the name', async () => {
    const { receiver, proxy, post } = await scene([PUBLIC]);

    expect(await post('localhost')).toBe(204);

    expect(proxy.tunnels).toEqual([`${PUBLIC}:443`]);
    expect(receiver.received[0]?.headers.host).toBe('localhost');
  });

  it('ask the proxy for an IPv6 address in brackets', async () => {
    const { proxy, post } = await scene(['2606:2800:220:1::1']);

    await post('localhost:8443');

    expect(proxy.tunnels).toEqual(['[2606:2800:220:1::1]:8443']);
  });

  it('reuse a tunnel', async () => {
    const { proxy, post } = await scene([PUBLIC]);

    await post('localhost');
    await post('localhost');

    expect(proxy.tunnels).toHaveLength(1);
  });

  it('do not reuse a tunnel of another account', async () => {
    const receiver = await startReceiver(certificate);
    const proxy = await openProxy({ portOf: () => receiver.port });
    const senders = createSenders(connectionRules(['127.0.0.1'], ['0xaa']), {
      ca: certificate.cert,
      resolve: async () => ['127.0.0.1'],
      proxy: proxy.url,
    });
    onTestFinished(async () => {
      senders.close();
      await receiver.close();
    });
    const post = (wallet: string) => senders.senderOf(wallet).post('https://localhost/', {}, '{}');

    expect(await post('0xAA')).toBe(204);
    await expect(post('0xbb')).rejects.toThrow('the address is not public');
    expect(await post('0xaa')).toBe(204);

    expect(proxy.tunnels).toHaveLength(1);
  });

  it('accept no receiver with the certificate of another name', async () => {
    const { receiver, post } = await scene([PUBLIC]);

    await expect(post('other.invalid')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(receiver.received).toEqual([]);
  });

  it.each([[['10.0.0.1']], [[PUBLIC, '169.254.169.254']], [['::1']], [[]]])(
    'do not use the proxy if a name has the addresses %j',
    async (found) => {
      const { proxy, post } = await scene(found);

      await expect(post('rebinding.invalid')).rejects.toThrow(/not public|no address/);

      expect(proxy.tunnels).toEqual([]);
    },
  );

  it('ask the proxy for no literal address that is not public', async () => {
    const { proxy, post } = await scene([PUBLIC]);

    await expect(post('10.1.2.3')).rejects.toThrow('not public');

    expect(proxy.tunnels).toEqual([]);
  });

  it('send credentials to the proxy alone', async () => {
    const receiver = await startReceiver(certificate);
    const proxy = await openProxy({
      portOf: () => receiver.port,
      credentials: `robot:${PASSWORD}`,
    });
    const options = { mayConnect, ca: certificate.cert, resolve: async () => [PUBLIC] };
    const at = (credentials: string) =>
      createSender({ ...options, proxy: `http://${credentials}@${proxy.address}` });
    const [sender, wrong] = [at(CREDENTIALS), at('robot:s3cret')];
    onTestFinished(async () => {
      for (const one of [sender, wrong]) one.close();
      await receiver.close();
    });

    expect(await sender.post('https://localhost/hook', {}, '{}')).toBe(204);
    const refusal = await wrong.post('https://localhost/hook', {}, '{}').catch((error) => error);

    expect(receiver.received[0]?.headers).not.toHaveProperty('proxy-authorization');
    expect(refusal.message).toBe('the proxy answered 407');
  });

  it('say that the proxy cannot be reached', async () => {
    const { post } = await scene([PUBLIC], { proxy: 'http://robot:s3cret@127.0.0.1:9' });

    await expect(post('localhost')).rejects.toThrow('no connection to the proxy (ECONNREFUSED)');
  });

  it('do not use the proxy of other requests', async () => {
    const receiver = await startReceiver(certificate);
    const proxy: HttpProxy = await openProxy({ portOf: () => receiver.port });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const sender = createSender({
      mayConnect,
      ca: certificate.cert,
      resolve: async () => ['127.0.0.1'],
    });
    onTestFinished(async () => {
      sender.close();
      await receiver.close();
    });

    expect(await sender.post(`https://localhost:${receiver.port}/hook`, {}, '{}')).toBe(204);

    expect(proxy.tunnels).toEqual([]);
  });

  it('show no credentials of SVC_WEBHOOK_PROXY in the configuration', async () => {
    const env = { SVC_WEBHOOK_PROXY: 'http://robot:s3cret@proxy.invalid:3128' };

    const { stdout, stderr } = await runInProcess('svc-server', ['config'], { env });

    expect(stdout).toContain('SVC_WEBHOOK_PROXY');
    expect(stdout + stderr).not.toContain('s3cret');
  });
});
