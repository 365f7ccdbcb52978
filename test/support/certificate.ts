import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

export interface TestCertificate {
  /** PEM. */
  key: string;
  cert: string;
  /** Where `cert` is. */
  file: string;
  remove(): Promise<void>;
}

const fixture = (name: string) =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');

/** For localhost and 127.0.0.1, its own authority, valid for 100 years. The key protects nothing. */
export const localhostCertificate: Pick<TestCertificate, 'key' | 'cert'> = {
  key: fixture('localhost-key.pem'),
  cert: fixture('localhost-certificate.pem'),
};

/** A new certificate for localhost, or for other names, which is its own authority. */
export async function makeCertificate(
  openssl: string,
  names = 'DNS:localhost',
): Promise<TestCertificate> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-tls-'));
  const [key, file] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
  await promisify(execFile)(openssl, [
    ...['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-days', '2', '-subj', '/CN=localhost', '-addext', `subjectAltName=${names}`],
    ...['-keyout', key, '-out', file],
  ]);
  return {
    key: await readFile(key, 'utf8'),
    cert: await readFile(file, 'utf8'),
    file,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
