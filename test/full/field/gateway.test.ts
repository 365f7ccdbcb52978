// Gateways and portals with certificates that a robot does not accept.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { killAgents, spawnAgent } from '../../support/agent-process.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** File in test/fixtures. */
  certificate: string;
  /** Whether the robot trusts the authority. */
  trusted: boolean;
  reason: RegExp;
}

const rows: Row[] = [
  {
    name: 'is not valid yet, as on a robot whose clock lost its time',
    report: 'eve 2247, talos 13505',
    certificate: 'certificate-not-yet-valid.pem',
    trusted: true,
    reason: /the certificate is not valid yet: this machine's clock says 20\d\d-/,
  },
  {
    name: 'has expired',
    report: 'of our own',
    certificate: 'certificate-expired.pem',
    trusted: true,
    reason: /the certificate has expired: this machine's clock says 20\d\d-/,
  },
  {
    name: 'is for another name, as a portal presents its own',
    report: 'coova-chilli 91',
    certificate: 'certificate-other-name.pem',
    trusted: true,
    reason: /the certificate is for another name: is there a proxy or a sign-in page\?/,
  },
  {
    name: 'is of an unknown authority',
    report: 'of our own',
    certificate: 'localhost-certificate.pem',
    trusted: false,
    reason: /the certificate is of an authority that this machine does not trust/,
  },
];

let agent: TestAgent;

afterEach(async () => {
  killAgents();
  await agent?.remove();
});

/** All have the same key, which protects nothing. */
const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

it.each(rows)('is reported in status and log: $name ($report)', async (row) => {
  const file = fixture(row.certificate);
  const [key, cert] = await Promise.all(
    [fixture('localhost-key.pem'), file].map((one) => readFile(one)),
  );
  const portal = createServer({ key, cert }, (_, response) => response.end('{}'));
  portal.on('tlsClientError', () => {});
  portal.listen(0, '127.0.0.1');
  await once(portal, 'listening');
  const url = `https://localhost:${(portal.address() as AddressInfo).port}`;
  agent = await createTestAgent({ url, apiKey: `svc_${'0'.repeat(40)}` });
  const lines: string[] = [];
  try {
    await spawnAgent(
      { ...agent.environment, ...(row.trusted && { NODE_EXTRA_CA_CERTS: file }) },
      (line) => lines.push(line),
    );
    await agent.record([{ state: 'idle' }]);
    const error = await waitFor('it', async () => (await agent.status()).last_error, LONG);

    expect(error).toMatchObject({
      code: 'service_unreachable',
      message: expect.stringMatching(row.reason),
    });
    await waitFor('its log', async () => row.reason.test(lines.join('\n')), LONG);
    expect(lines.join('\n')).not.toMatch(/TypeError|fetch failed/);
    await waitFor('it', async () => (await agent.status()).queues.samples.count === 1, LONG);
  } finally {
    portal.closeAllConnections();
    portal.close();
  }
});
