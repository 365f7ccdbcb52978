// Signing keys in emulated hardware: a PKCS #11 token (softhsm2) and a TPM (swtpm). The commands are those of
// docs/robots.md.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { findProgram } from '../../support/require-program.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface HardwareKey {
  readonly name: string;
  readonly publicKeyFile: string;
  /** Environment of the agent. */
  readonly environment: Readonly<Record<string, string>>;
  /** Line of a shell: data on standard input, signature in base64 on standard output. */
  readonly signLine: string;
}

/** Packages of Debian and Ubuntu. */
const packages = {
  'softhsm2-util': 'softhsm2',
  'pkcs11-tool': 'opensc',
  swtpm: 'swtpm',
  tpm2_sign: 'tpm2-tools',
  openssl: 'openssl',
};
const modules = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib64/softhsm/libsofthsm2.so'];
const PIN = '1234';

/** Packages that are missing. */
export function missingPackages(): string[] {
  return Object.entries(packages)
    .filter(([program]) => findProgram(program) === null)
    .map(([, name]) => name);
}

/** Two keys in one token: Ed25519, and ES256 as 64 bytes. */
export async function makeTokenKeys(folder: string): Promise<HardwareKey[]> {
  const module = modules.find((file) => existsSync(file));
  if (module === undefined)
    throw new Error('libsofthsm2.so is not where Debian and Fedora have it');
  const tokens = path.join(folder, 'tokens');
  await mkdir(tokens, { recursive: true });
  const file = path.join(folder, 'softhsm2.conf');
  await writeFile(file, `directories.tokendir = ${tokens}\nobjectstore.backend = file\n`);
  const environment = { SOFTHSM2_CONF: file, TOKEN_PIN: PIN };
  const sh = (line: string) => shell(line, environment);
  const tool = `pkcs11-tool --module ${module} --token-label robot`;
  const withPin = `${tool} --login --pin env:TOKEN_PIN`;
  await sh(`softhsm2-util --init-token --free --label robot --pin ${PIN} --so-pin 5678`);
  const make = async (id: string, type: string) => {
    const publicKeyFile = path.join(folder, `token-${id}.pub`);
    await sh(`${withPin} --keypairgen --key-type ${type} --id ${id}`);
    const read = `${tool} --read-object --type pubkey --id ${id}`;
    await sh(`${read} --output-file ${publicKeyFile}.der`);
    // Older versions write DER for ECDSA.
    await sh(`openssl pkey -pubin -in ${publicKeyFile}.der -out ${publicKeyFile}`);
    return publicKeyFile;
  };
  return [
    {
      name: 'softhsm2-ed25519',
      publicKeyFile: await make('01', 'EC:edwards25519'),
      environment,
      signLine: `${withPin} --sign --mechanism EDDSA --id 01 | base64 -w0`,
    },
    {
      name: 'softhsm2-es256',
      publicKeyFile: await make('02', 'EC:prime256v1'),
      environment,
      signLine: `openssl dgst -sha256 -binary | ${withPin} --sign --mechanism ECDSA --id 02 | base64 -w0`,
    },
  ];
}

/** A key in a TPM: ES256, as DER. */
export async function makeTpmKey(
  folder: string,
): Promise<{ key: HardwareKey; close(): Promise<void> }> {
  const socket = path.join(folder, 'tpm.sock');
  const state = path.join(folder, 'tpm');
  await mkdir(state, { recursive: true });
  const tpm = spawn(
    'swtpm',
    [
      ...['socket', '--tpm2', '--tpmstate', `dir=${state}`],
      ...['--server', `type=unixio,path=${socket}`, '--ctrl', `type=unixio,path=${socket}.ctrl`],
      ...['--flags', 'not-need-init,startup-clear'],
    ],
    { stdio: 'ignore' },
  );
  const ended = once(tpm, 'exit');
  await waitFor('the TPM', () => existsSync(socket));
  const publicKeyFile = path.join(folder, 'tpm.pem');
  const environment = { TPM2TOOLS_TCTI: `swtpm:path=${socket}` };
  const context = path.join(folder, 'key.ctx');
  await shell(
    `tpm2_createprimary -C o -G ecc256:ecdsa-sha256 -c ${context} \
       -a 'fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign' &&
     tpm2_evictcontrol -C o -c ${context} 0x81010010 &&
     tpm2_readpublic -c 0x81010010 -f pem -o ${publicKeyFile}`,
    environment,
  );
  return {
    key: {
      name: 'swtpm-es256',
      publicKeyFile,
      environment,
      signLine: 'tpm2_sign -c 0x81010010 -g sha256 -f plain -o /dev/stdout | base64 -w0',
    },
    async close() {
      tpm.kill();
      await ended;
    },
  };
}

/** Runs a line of a shell; throws with its message if it fails. */
export async function shell(
  line: string,
  environment: Readonly<Record<string, string>>,
  input = '',
): Promise<string> {
  const child = spawn('sh', ['-c', line], { env: { PATH: process.env.PATH, ...environment } });
  child.stdin.end(input);
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`${line}: ${errors}`);
  return output;
}
