import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { createServer } from 'node:tls';
import { expect, it } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { setUpDoctorScene } from '../support/doctor.ts';
import { run } from '../support/programs.ts';
import { needsProgram } from '../support/require-program.ts';

const scene = setUpDoctorScene();

it('finds a service that does not answer, and asks it nothing more', async () => {
  const { exitCode, checks } = await scene.doctor({ SVC_AGENT_URL: 'http://127.0.0.1:9' });

  expect(exitCode).toBe(1);
  expect(checks.get('service')?.ok).toBe(false);
  expect(checks.get('key')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/not proven/),
  });
  expect(checks.has('limit')).toBe(false);
});

it('finds a key that the service refuses', async () => {
  await writeFile(scene.agent.keyFile, `svc_${'ab'.repeat(20)}\n`);

  const { exitCode, checks } = await scene.doctor();

  expect(exitCode).toBe(1);
  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/svc-agent key set/),
  });
});

it('finds a key that others can read', async () => {
  await chmod(scene.agent.keyFile, 0o644);

  const { checks } = await scene.doctor();

  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/mode 644/),
  });
});

it('finds another key than the daemon uses, as after a change under systemd', async () => {
  await scene.startConnected();
  const other = await scene.service.makeRobot(scene.owner, 'arm-2');
  const file = path.join(scene.agent.folder, 'new-key');
  await writeFile(file, other.apiKey, { mode: 0o600 });

  const { checks } = await scene.doctor({ SVC_AGENT_KEY_FILE: file });

  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/systemctl restart svc-agent/),
  });
});

it('finds a clock that is wrong', async () => {
  scene.proxy.handle(async ({ forward, response }) => {
    const { status, headers, body } = await forward();
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    response.writeHead(status, { ...headers, date }).end(body);
  });

  const { checks } = await scene.doctor();

  expect(checks.get('clock')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/\d+ s ahead of the service/),
  });
});

it('finds a limit that is used up', async () => {
  const body = { error: 'rate_limited', message: 'Too many calls.', retry_after: 7 };
  scene.proxy.handle(async ({ path: target, pass, response }) => {
    if (target !== '/api/v1/robot') await pass();
    else response.writeHead(429, { 'retry-after': '7' }).end(JSON.stringify(body));
  });

  const { exitCode, checks } = await scene.doctor();

  expect(exitCode).toBe(1);
  expect(checks.get('key')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/not proven/),
  });
  expect(checks.get('limit')).toMatchObject({
    ok: false,
    detail: expect.stringContaining('Too many calls.'),
  });
});

it('tells a certificate that is trusted from one that is not', async (context) => {
  const front = await startTlsFront(needsProgram(context, 'openssl'));
  try {
    const untrusted = await scene.doctor({ SVC_AGENT_URL: front.url });
    const trust = { NODE_EXTRA_CA_CERTS: front.certificate };
    const trusted = await scene.doctor({ SVC_AGENT_URL: front.url, ...trust }, run);

    expect(untrusted.checks.get('tls')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/SELF_SIGNED/),
    });
    expect(untrusted.checks.get('service')?.ok).toBe(false);
    expect(trusted.checks.get('tls')).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/^TLSv1\.\d, .* GMT$/),
    });
    expect(trusted.checks.get('key')?.ok).toBe(true);
  } finally {
    await front.close();
  }
});

/** The service behind TLS, with a certificate of its own making for localhost. */
async function startTlsFront(openssl: string) {
  const certificate = await makeCertificate(openssl);
  const { key, cert } = certificate;
  const server = createServer({ key, cert }, (socket) => {
    const onward = connect(Number(new URL(scene.service.url).port), '127.0.0.1');
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  // Whoever does not trust it hangs up.
  server.on('tlsClientError', () => {});
  server.listen(0);
  await once(server, 'listening');
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificate: certificate.file,
    async close() {
      server.close();
      await certificate.remove();
    },
  };
}
