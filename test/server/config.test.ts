import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exampleEnvironment } from '../../docs/env-example.ts';
import { readConfig } from '../../src/server/config.ts';
import { environment, secretVariables } from '../../src/server/environment.ts';

const root = path.resolve(import.meta.dirname, '../..');

function faultsOf(environment: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_configuration' });
    return (error as Error).message.split('\n');
  }
  return [];
}

describe('the configuration', () => {
  it('has a default for everything that start does not require', () => {
    const config = readConfig({});

    expect(config).toMatchObject({ baseUrl: 'http://127.0.0.1:3000', gate: null });
    expect(config.database).toEqual({ kind: 'sqlite', path: path.resolve('data/svc.db') });
  });

  it('lists every error at once, by variable', () => {
    const faults = faultsOf({
      SVC_PORT: 'abc',
      SVC_SIGNUP: 'maybe',
      SVC_CHAIN_RPC_URL: 'nowhere',
      SVC_TYPO: '1',
    });

    expect(faults).toEqual([
      'SVC_PORT must be a whole number',
      'SVC_SIGNUP must be one of open, gate',
      'SVC_TYPO is not a variable of this program',
      'SVC_CHAIN_RPC_URL is not a URL',
    ]);
  });

  it('reports two errors of one variable', () => {
    const faults = faultsOf({
      SVC_BASE_URL: 'ftp://svc.example/path',
      SVC_ANCHOR_PRIVATE_KEY: 'short',
      SVC_ANCHOR_KEY_FILE: 'key.json',
    });

    expect(faults).toEqual([
      expect.stringMatching(/^SVC_BASE_URL is not valid: /),
      expect.stringMatching(/^SVC_ANCHOR_PRIVATE_KEY is not valid: /),
      'SVC_BASE_URL must be an origin, without a path',
      'SVC_ANCHOR_PRIVATE_KEY and SVC_ANCHOR_KEY_FILE must not both be set',
    ]);
  });

  it.each([
    [{ SVC_HOST: '0.0.0.0' }, /^SVC_BASE_URL is required/],
    [{ SVC_BASE_URL: 'https://svc.example/path' }, /must be an origin/],
    [{ SVC_DATABASE_URL: 'postgres://[' }, /^SVC_DATABASE_URL is not a URL/],
    [{ SVC_DATABASE_URL: 'mysql://db' }, /^SVC_DATABASE_URL is not valid: Database: sqlite:PATH/],
    [{ SVC_CHAIN_RPC_URL: 'https://a,https://A/' }, /must not list a URL twice/],
    [{ SVC_CHAIN_RPC_URL: 'http://[' }, /is not a URL/],
    [{ SVC_ANCHOR_FINALITY_DEPTH: '0' }, /^SVC_ANCHOR_FINALITY_DEPTH/],
    [
      { SVC_WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/8' },
      /^SVC_WEBHOOK_ALLOW_NETWORKS and SVC_WEBHOOK_ALLOW_WALLETS must be set together/,
    ],
    [{ SVC_WEBHOOK_ALLOW_WALLETS: `0x${'a'.repeat(40)}` }, /must be set together/],
    [
      { SVC_WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/8', SVC_WEBHOOK_ALLOW_WALLETS: 'all' },
      /^SVC_WEBHOOK_ALLOW_WALLETS is not valid: Addresses of the wallets/,
    ],
    [{ SVC_SIGNUP: 'gate' }, /requires SVC_GATE_TOKEN/],
    [
      { SVC_ANCHOR_KEY_FILE: 'a,b,c', SVC_ANCHOR_KEY_PASSWORD_FILE: 'p,q' },
      /^SVC_ANCHOR_KEY_PASSWORD_FILE must name one file, or one per/,
    ],
  ])('refuses %j', (environment, fault) => {
    expect(faultsOf(environment)).toEqual([expect.stringMatching(fault)]);
  });

  it('has networks for the webhooks of the listed wallets', () => {
    const [first, second] = [`0x${'aB'.repeat(20)}`, `0x${'cd'.repeat(20)}`];
    const { webhookNetworks, webhookWallets } = readConfig({
      SVC_WEBHOOK_ALLOW_NETWORKS: '10.1.0.0/16,::1',
      SVC_WEBHOOK_ALLOW_WALLETS: `${first}, ${second}`,
    });

    expect(webhookNetworks).toEqual(['10.1.0.0/16', '::1']);
    expect(webhookWallets).toEqual([first, second]);
  });

  it('accepts several RPC endpoints', () => {
    const { rpcUrls } = readConfig({ SVC_CHAIN_RPC_URL: 'https://a/x?y=1, https://u:p@b' });

    expect(rpcUrls).toEqual(['https://a/x?y=1', 'https://u:p@b']);
  });

  it.each([
    'postgres://svc@db.example/svc',
    'postgresql://svc@10.0.0.7/svc?sslmode=disable',
    'postgres://svc@db.example/svc?ssl=0&sslmode=verify-full',
    'postgres://svc@db.example/svc?sslmode=verify-full&sslmode=prefer',
    'postgres://svc@localhost/svc?host=db.example',
    'postgres://svc@127.db.example/svc',
  ])('refuses %s, over which others could read and change the data', (url) => {
    expect(faultsOf({ SVC_DATABASE_URL: url })).toEqual([
      expect.stringMatching(
        /^SVC_DATABASE_URL .*sslmode=verify-full.*SVC_ALLOW_PLAINTEXT=postgres/,
      ),
    ]);
    expect(faultsOf({ SVC_DATABASE_URL: url, SVC_ALLOW_PLAINTEXT: 'rpc' })).toHaveLength(1);
    expect(faultsOf({ SVC_DATABASE_URL: url, SVC_ALLOW_PLAINTEXT: 'rpc,postgres' })).toEqual([]);
  });

  it('refuses a database on the machine that PGHOST names', () => {
    const remote = { SVC_DATABASE_URL: 'postgres:///svc', PGHOST: 'db.example' };

    expect(faultsOf(remote)).toHaveLength(1);
    expect(faultsOf({ ...remote, PGSSLMODE: 'verify-full' })).toEqual([]);
  });

  it.each([
    'postgres://svc@db.example/svc?sslmode=verify-full',
    'postgres://svc@db.example/svc?sslmode=require',
    'postgres://svc@db.example/svc?ssl=true',
    'postgres://svc@localhost/svc',
    'postgres://svc@127.0.0.1:6432/svc',
    'postgres://svc@[::1]/svc',
    'postgres:///svc',
    'postgres:///svc?host=/var/run/postgresql',
    'postgres://%2Fvar%2Frun%2Fpostgresql/svc',
  ])('takes %s', (url) => {
    expect(faultsOf({ SVC_DATABASE_URL: url })).toEqual([]);
  });

  it('refuses a provider on another machine over http', () => {
    const SVC_CHAIN_RPC_URL = 'https://a,http://127.0.0.1:8545,http://rpc.example/key';

    expect(faultsOf({ SVC_CHAIN_RPC_URL })).toEqual([
      expect.stringMatching(/^SVC_CHAIN_RPC_URL .*use https.*SVC_ALLOW_PLAINTEXT=rpc/),
    ]);
    expect(faultsOf({ SVC_CHAIN_RPC_URL, SVC_ALLOW_PLAINTEXT: 'postgres' })).toHaveLength(1);
    expect(faultsOf({ SVC_CHAIN_RPC_URL, SVC_ALLOW_PLAINTEXT: 'rpc' })).toEqual([]);
    expect(faultsOf({ SVC_CHAIN_RPC_URL: 'http://localhost:1,http://[::1]:2' })).toEqual([]);
    expect(faultsOf({ SVC_ALLOW_PLAINTEXT: 'all' })).toHaveLength(1);
  });

  it('never shows a value in an error', () => {
    const secret = 'ab'.repeat(31);

    const faults = faultsOf({ SVC_ANCHOR_PRIVATE_KEY: secret });

    expect(faults).toHaveLength(1);
    expect(faults.join()).not.toContain(secret);
  });

  it('ignores the variables of other programs', () => {
    expect(
      faultsOf({ SVC_AGENT_URL: 'x', SVC_URL: 'x', SVC_TOKEN: 'x', SVC_PROFILE: 'x' }),
    ).toEqual([]);
  });

  it('treats an empty variable as absent', () => {
    expect(readConfig({ SVC_PORT: '' }).values.SVC_PORT).toBe(3000);
  });

  it('pairs key files with their passwords, or all with one', () => {
    const keysOf = (SVC_ANCHOR_KEY_PASSWORD_FILE: string) =>
      readConfig({ SVC_ANCHOR_KEY_FILE: 'a, b', SVC_ANCHOR_KEY_PASSWORD_FILE }).anchorKeys;

    expect(keysOf('p,q')).toEqual([
      { file: 'a', passwordFile: 'p' },
      { file: 'b', passwordFile: 'q' },
    ]);
    expect(keysOf('p')).toEqual([
      { file: 'a', passwordFile: 'p' },
      { file: 'b', passwordFile: 'p' },
    ]);
  });

  it('cannot be changed once read', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
    expect(Object.isFrozen(readConfig({}).values)).toBe(true);
  });

  it('marks only existing variables as secret', () => {
    const names = Object.keys(environment.properties);
    for (const name of secretVariables) expect(names).toContain(name);
  });
});

describe('SVC_TRUST_PROXY', () => {
  it.each([
    ['false', []],
    ['10.0.0.7, 10.1.0.0/16,::1', ['10.0.0.7', '10.1.0.0/16', '::1']],
  ])('takes %s', (given, proxies) => {
    expect(readConfig({ SVC_TRUST_PROXY: given }).trustedProxies).toEqual(proxies);
  });

  it.each(['true', 'proxy.example', '10.0.0.0/33', '10.0.0.0/8/8'])('refuses %s', (given) => {
    expect(faultsOf({ SVC_TRUST_PROXY: given }).join()).toContain('SVC_TRUST_PROXY must be false');
  });
});

describe('the documentation of the configuration', () => {
  it('is generated into .env.example, with every variable', () => {
    const example = readFileSync(path.join(root, '.env.example'), 'utf8');

    expect(example).toBe(exampleEnvironment());
    const named = [...example.matchAll(/^# (SVC_\w+)=/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(environment.properties).sort());
  });
});
