import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';
import { expect, it } from 'vitest';
import { makeCertificate } from '../../support/certificate.ts';
import { setUpDoctorScene } from '../../support/doctor.ts';
import { run } from '../../support/programs.ts';
import { needsProgram } from '../../support/require-program.ts';

const scene = setUpDoctorScene();

it('distinguishes a trusted certificate from an untrusted one', async (context) => {
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
  // A client that does not trust the certificate closes the connection.
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
