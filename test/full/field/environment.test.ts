// What the environment of a program says of the network, where it takes a process.
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate, type TestCertificate } from '../../support/certificate.ts';
import { type HttpProxy, startHttpProxy } from '../../support/http-proxy.ts';
import { run } from '../../support/programs.ts';
import { findProgram, needsProgram } from '../../support/require-program.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const openssl = findProgram('openssl');
if (openssl === null) {
  it('programs behind a proxy', (context) => {
    needsProgram(context, 'openssl');
  });
}

/** Says at the end whether undici was loaded. */
const listing = `import { createRequire } from 'node:module';
const { cache } = createRequire('/');
process.on('exit', () => {
  const isLoaded = Object.keys(cache).some((file) => file.includes('/undici/'));
  process.stderr.write('undici: ' + isLoaded + '\\n');
});`;
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(listing)}`;

describe('behind a proxy', () => {
  let service: TestService;
  let certificate: TestCertificate;
  let terminator: ReturnType<typeof createServer>;
  let proxy: HttpProxy;
  beforeAll(async () => {
    if (openssl === null) return;
    service = await startTestService();
    certificate = await makeCertificate(openssl, 'DNS:svc.invalid');
    terminator = createServer(certificate, (incoming, response) => {
      const { method = 'GET', url, headers } = incoming;
      const call = request(new URL(url ?? '/', service.url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(call);
    });
    terminator.listen(0, '127.0.0.1');
    await once(terminator, 'listening');
    const { port } = terminator.address() as AddressInfo;
    proxy = await startHttpProxy({ portOf: () => port, credentials: 'robot:s3cret' });
  });
  afterAll(async () => {
    await proxy?.close();
    terminator?.closeAllConnections();
    terminator?.close();
    await service?.close();
    await certificate?.remove();
  });

  const environment = () => ({
    https_proxy: `http://robot:s3cret@${proxy.address}`,
    NODE_EXTRA_CA_CERTS: certificate.file,
    NODE_OPTIONS,
  });

  it.skipIf(openssl === null)('svc reaches the service by its name', async () => {
    const { exitCode, stdout, stderr } = await run('svc', ['chain', '--json'], {
      env: { ...environment(), SVC_URL: 'https://svc.invalid' },
    });

    expect(stderr).toBe('undici: true\n');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ chain_id: 31337 });
    expect(new Set(proxy.tunnels)).toEqual(new Set(['svc.invalid:443']));
  });

  it.skipIf(openssl === null)('svc-agent doctor reaches the service by its name', async () => {
    const { stdout, stderr } = await run('svc-agent', ['doctor', '--json'], {
      env: { ...environment(), SVC_AGENT_URL: 'https://svc.invalid' },
    });

    const { checks } = JSON.parse(stdout);
    expect(checks).toContainEqual(expect.objectContaining({ name: 'service', ok: true }));
    expect(checks).toContainEqual(expect.objectContaining({ name: 'proxy', ok: true }));
    expect(stdout + stderr).not.toContain('s3cret');
  });

  it.skipIf(openssl === null)('svc loads no undici without a proxy', async () => {
    const { stderr } = await run('svc', ['chain', '--json'], {
      env: { NODE_OPTIONS, SVC_URL: service.url },
    });

    expect(stderr).toBe('undici: false\n');
  });
});
