import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/server/store/postgres/open-store.ts';
import { failsWith } from '../../contract/world.ts';
import { makeCertificate, type TestCertificate } from '../../support/certificate.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { needsProgram } from '../../support/require-program.ts';
import { createDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Its certificate is for localhost; `other` has an unknown authority. */
let postgres: TestPostgres | undefined;
let certificate: TestCertificate;
let other: TestCertificate;
let url: URL;

beforeEach(async (context) => {
  const openssl = needsProgram(context, 'openssl');
  if (postgres !== undefined) return;
  [certificate, other] = await Promise.all([makeCertificate(openssl), makeCertificate(openssl)]);
  postgres = await startPostgres(['ssl=on'], {
    'server.crt': certificate.cert,
    'server.key': certificate.key,
  });
  url = new URL((await createDatabase(postgres.url)).url);
  url.hostname = 'localhost';
});
afterAll(async () => {
  await postgres?.close();
  await Promise.all([certificate?.remove(), other?.remove()]);
});

const open = (parameters: Record<string, string>, at = url) => {
  const given = new URL(at);
  for (const [name, value] of Object.entries(parameters)) given.searchParams.set(name, value);
  return openPostgresStore({ url: given.href, poolMax: 2, pooler: false, serves: true });
};

/** Whether each session of the store is encrypted; there is one that it listens on. */
async function encrypted(): Promise<boolean[]> {
  const client = new pg.Client({ connectionString: `${postgres?.url}${url.pathname}` });
  await client.connect();
  const { rows } = await client.query(
    `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE datname = current_database() AND application_name = 'svc-server'`,
  );
  await client.end();
  return rows.map(({ ssl }) => ssl);
}

it('is encrypted and authenticated on every connection by verify-full', async () => {
  const store = await open({ sslmode: 'verify-full', sslrootcert: certificate.file });
  await store.probe();

  const sessions = await waitFor('the session that listens', async () => {
    const found = await encrypted();
    return found.length >= 2 ? found : null;
  });

  expect(new Set(sessions)).toEqual(new Set([true]));
  await store.close();
});

it.each(['verify-full', 'require'])('refuses a wrong authority with %s', async (sslmode) => {
  await expect(open({ sslmode, sslrootcert: other.file })).rejects.toMatchObject({
    ...failsWith('database_unusable'),
    message: expect.stringContaining('SELF_SIGNED_CERT'),
  });
});

it('refuses an authority that the system does not know', async () => {
  await expect(open({ sslmode: 'verify-full' })).rejects.toMatchObject({
    ...failsWith('database_unusable'),
    message: expect.stringContaining('SELF_SIGNED_CERT'),
  });
});

it('refuses a certificate for another name', async () => {
  const address = new URL(url);
  address.hostname = '127.0.0.1';

  await expect(
    open({ sslmode: 'verify-full', sslrootcert: certificate.file }, address),
  ).rejects.toMatchObject({
    ...failsWith('database_unusable'),
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
});

it('is encrypted by no-verify too, whichever server answers', async () => {
  const store = await open({ sslmode: 'no-verify' });
  await store.probe();

  expect(new Set(await encrypted())).toEqual(new Set([true]));
  await store.close();
});

it.each(['verify-full', 'require', 'no-verify'])(
  'sends nothing to a server without TLS with %s',
  async (sslmode) => {
    const heard: Buffer[] = [];
    const plain = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        heard.push(bytes);
        socket.write('N');
      });
    });
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo;

    const opening = open({ sslmode }, new URL(`postgres://svc:secret@127.0.0.1:${port}/svc`));

    await expect(opening).rejects.toMatchObject(failsWith('database_unusable'));
    // No more than the question whether it has TLS, of 8 bytes.
    for (const bytes of heard) expect(bytes.toString('hex')).toBe('0000000804d2162f');
    expect(heard.length).toBeGreaterThan(0);
    plain.close();
  },
);
