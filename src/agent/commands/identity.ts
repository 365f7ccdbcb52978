// `svc-agent identity`: the key with which the robot signs its work.
import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { escapeText } from '../../base/escape.ts';
import { SvcError, unreadableFile } from '../../base/svc-error.ts';
import type { PublicKey } from '../../proof/statements/public-key.ts';
import { KEY_REVOKED_HINT } from '../errors.ts';
import { environmentToLookAfter, readAgentUnit } from '../installation.ts';
import {
  publicKeyOf,
  readSigningKey,
  signingKeyFile,
  writeSigningKey,
} from '../signing/key-file.ts';

export function addCommands(program: Command): void {
  const identity = program
    .command('identity')
    .description('Create or show the key with which the robot signs its work');
  identity
    .command('create')
    .description(
      'Create the signing key of the robot next to the spool, and propose it to the service; the owner then signs it',
    )
    .option(
      '--public-key <file>',
      'public key of SVC_AGENT_SIGN_COMMAND, as PEM (SPKI) or JWK; needed with this variable',
    )
    .option('--replace', 'replace the key; until the owner signs the new one, nothing is delivered')
    .addHelpText(
      'after',
      '\nThe owner signs the key in the dashboard or with svc robots sign-key. From then on, the agent signs every claim and result.\nIf the service cannot be reached, the daemon proposes the key later.\n\nExample:\n  sudo svc-agent identity create',
    )
    .action(create);
  identity
    .command('show')
    .description('Show the signing key, and whether the owner has signed it')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  sudo svc-agent identity show')
    .action(show);
}

async function create(options: { publicKey?: string; replace?: true }): Promise<void> {
  const config = await readOwnConfig();
  const { signCommand, stateDir } = config;
  const file = signingKeyFile(stateDir);
  if ((signCommand === null) !== (options.publicKey === undefined)) {
    throw new SvcError('usage', 'Set both SVC_AGENT_SIGN_COMMAND and --public-key, or neither.', {
      hint: 'The daemon needs the same SVC_AGENT_SIGN_COMMAND.',
    });
  }
  const given = options.publicKey === undefined ? null : await publicKeyIn(options.publicKey);
  const key = await asOwner(stateDir, async () => {
    if (existsSync(file) && !options.replace) {
      throw new SvcError('usage', `The robot already has a signing key: ${file}.`, {
        hint: 'Show it with svc-agent identity show, or add --replace.',
      });
    }
    await writeSigningKey(stateDir, given).catch((cause: NodeJS.ErrnoException) => {
      throw new SvcError('usage', `Cannot write the signing key ${file} (${cause.code}).`, {
        hint: 'Run this with sudo, or as the account of svc-agent.',
        cause,
      });
    });
    return ownKey(config);
  });
  process.stdout.write(`${key.thumbprint}\n`);
  process.stderr.write(`Wrote the signing key to ${file}.\n`);
  try {
    const { name } = await askService(config, key.publicKey);
    process.stderr.write(`Proposed to the service. ${toDo(name)}\n`);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    process.stderr.write(`Not proposed yet: ${escapeText(error.message)}\n`);
    process.stderr.write('The daemon proposes the key later.\n');
  }
}

async function show({ json }: { json?: true }): Promise<void> {
  const config = await readOwnConfig();
  const key = await asOwner(config.stateDir, () => ownKey(config));
  const { activeKeyOf, isRevoked } = await import('../signing/identity.ts');
  const { id, name, identity } = await askService(config, key.publicKey);
  const used = activeKeyOf(identity, key, id);
  const revoked = used === null && isRevoked(identity, key.thumbprint);
  const [why, next] = revoked
    ? ['the owner revoked it', KEY_REVOKED_HINT]
    : ['the owner has not signed it', toDo(name)];
  const shown = {
    robot_id: id,
    robot: name,
    thumbprint: key.thumbprint,
    kid: used?.kid ?? null,
    signed: used !== null,
    revoked,
    next_number: identity.next_number,
    to_do: used === null ? next : null,
  };
  const lines = [
    ['robot', `${name} (${id})`],
    ['key', key.thumbprint],
    ['in use', used === null ? `no: ${why}` : `yes, as ${used.kid}`],
    ['next number', String(identity.next_number)],
    ['to do', shown.to_do ?? 'nothing'],
  ];
  const text = lines.map(([title = '', value = '']) => `${title.padEnd(12)}${escapeText(value)}\n`);
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : text.join(''));
}

function toDo(name: string): string {
  return `The owner must sign the key in the dashboard or with: svc robots sign-key ${name}`;
}

async function readOwnConfig() {
  const { readConfig } = await import('../config.ts');
  const { adoptProxies } = await import('../../base/proxy/variables.ts');
  const environment = await environmentToLookAfter(process.env, await readAgentUnit());
  adoptProxies(environment);
  return readConfig(environment);
}

/** Every file that is written must belong to the agent. */
async function asOwner<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const { becomeOwnerOf } = await import('../spool/database.ts');
  const becomeSelf = becomeOwnerOf(folder);
  try {
    return await work();
  } finally {
    becomeSelf();
  }
}

type Config = Awaited<ReturnType<typeof readOwnConfig>>;

async function ownKey({ stateDir, signCommand }: Config) {
  const key = await readSigningKey(stateDir, signCommand, 0);
  if (key !== null) return key;
  throw new SvcError('usage', `The robot has no signing key in ${stateDir}.`, {
    hint: 'Create one with svc-agent identity create.',
  });
}

/** Proposes the key, which repeats without effect, and reads what the service knows about it. */
async function askService({ serviceUrl: baseUrl, key }: Config, publicKey: PublicKey) {
  if (baseUrl === null || key === null) {
    throw new SvcError('usage', 'SVC_AGENT_URL or the API key is not set.');
  }
  const { readKey } = await import('../key.ts');
  const { createReader } = await import('../uploads/answers.ts');
  const { proxiedFetch: fetch } = await import('../../base/proxy/connections.ts');
  const client = createReader({ baseUrl, fetch, credential: { apiKey: await readKey(key) } });
  const { id, name } = (await client.call('getOwnRobot')).body.robot;
  const { identity } = (await client.call('proposeKey', { body: { public_key: publicKey } })).body;
  return { id, name, identity };
}

/** @throws SvcError `usage`, `signing_key_unusable` */
async function publicKeyIn(file: string): Promise<PublicKey> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadableFile(file, error);
  });
  try {
    const isPem = text.includes('-----BEGIN PUBLIC KEY-----');
    const jwk = isPem ? createPublicKey(text).export({ format: 'jwk' }) : JSON.parse(text);
    return publicKeyOf({ ...jwk }, file);
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError('usage', `${file} holds no public key as PEM (SPKI) or JWK.`, { cause });
  }
}
