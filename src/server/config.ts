import { isIP } from 'node:net';
import path from 'node:path';
import { type Static, Type } from 'typebox';
import { isLoopback } from '../base/loopback.ts';
import { readEnvironment } from '../base/read-environment.ts';

const Decimal = (description: string, fallback: string) =>
  Type.String({ pattern: '^(0|[1-9]\\d{0,77})$', default: fallback, description });
const Whole = (description: string, minimum: number, fallback: number, maximum = 2 ** 31 - 1) =>
  Type.Integer({ minimum, maximum, default: fallback, description });
const Optional = (description: string, pattern = '\\S') =>
  Type.Optional(Type.String({ pattern, description }));

const OneOf = <Value extends string>(values: Value[], fallback: Value, description: string) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, default: fallback, description });

const address = '^0x[0-9a-fA-F]{40}$';
const httpUrl = '^https?://[^\\s,]+$';

/** The environment of `svc-server`: names, types, defaults and documentation, once. */
export const environment = Type.Object({
  SVC_HOST: Type.String({ default: '127.0.0.1', description: 'address to listen on' }),
  SVC_PORT: Whole('port to listen on; 0 takes a free one', 0, 3000, 65_535),
  SVC_BASE_URL: Optional(
    'public origin and sign-in domain; required when SVC_HOST is not loopback (default: http://HOST:PORT)',
    httpUrl,
  ),
  SVC_DATA_DIR: Type.String({
    default: './data',
    description: 'database, snapshots, state of the dev chain',
  }),
  SVC_DATABASE_URL: Optional(
    'sqlite:PATH for one instance, postgres://… for any number (default: sqlite:DATA_DIR/svc.db)',
    '^(sqlite:.+|postgres(ql)?://.+)$',
  ),
  SVC_DATABASE_POOL_MAX: Whole('most connections of this instance to PostgreSQL', 2, 10, 1000),
  SVC_DATABASE_POOLER: Type.Boolean({
    default: false,
    description:
      'true behind a PostgreSQL pooler that gives each transaction another session: no named statements, no LISTEN',
  }),
  SVC_CHAIN_RPC_URL: Optional(
    'JSON-RPC endpoints of the anchoring chain, comma-separated; with several, two must agree before a receipt; start needs one; never shown to anyone',
    '^https?://[^\\s,]+( *, *https?://[^\\s,]+)*$',
  ),
  SVC_CHAIN_ID: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'refused if the RPC says otherwise (default: asked of the RPC, then kept)',
    }),
  ),
  SVC_CHAIN_NAME: Optional('name shown to wallets (default: of the known chain)'),
  SVC_CHAIN_TESTNET: Type.Optional(
    Type.Boolean({ description: 'whether it is a test network (default: of the known chain)' }),
  ),
  SVC_EXPLORER_URL: Optional('block explorer (default: of the known chain)', httpUrl),
  SVC_PUBLIC_RPC_URL: Optional('RPC URL offered to wallets (default: of the known chain)', httpUrl),
  SVC_NATIVE_CURRENCY: Optional(
    'NAME,SYMBOL,DECIMALS (default: of the known chain)',
    '^[^,]+,[^,]{2,11},([0-9]|[12][0-9]|3[0-6])$',
  ),
  SVC_ANCHOR_PRIVATE_KEY: Optional(
    'keys that pay for anchors, 64 hex digits each, comma-separated; prefer the files',
    '^(0x)?[0-9a-fA-F]{64}(,(0x)?[0-9a-fA-F]{64})*$',
  ),
  SVC_ANCHOR_KEY_FILE: Optional(
    'files with a hex key or a V3 keystore each, comma-separated; start needs it, or SVC_ANCHOR_PRIVATE_KEY',
  ),
  SVC_ANCHOR_KEY_PASSWORD_FILE: Optional(
    "files with the keystores' passwords, comma-separated: one for all, or one for each",
  ),
  SVC_ANCHOR_TIMEOUT_MS: Whole(
    'how long a completion waits before it answers 202',
    0,
    30_000,
    600_000,
  ),
  SVC_ANCHOR_CONFIRMATIONS: Whole(
    'blocks, the including one counted, before a receipt is given',
    1,
    1,
    1000,
  ),
  SVC_ANCHOR_FINALITY_DEPTH: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description:
        "blocks, the including one counted, after which an anchor is final; exactly-once holds to that depth (default: the chain's own tags, 64 where it has none)",
    }),
  ),
  SVC_ANCHOR_BATCH_MAX: Whole('most proofs in one transaction', 1, 1024, 1024),
  SVC_ANCHOR_LINGER_MS: Whole(
    'least time to gather proofs while a transaction is in flight; more where blocks are slow, so that the places spread over one',
    0,
    50,
    60_000,
  ),
  SVC_ANCHOR_MAX_IN_FLIGHT: Whole('most transactions in flight', 1, 4, 64),
  SVC_ANCHOR_BUMP_AFTER_MS: Whole(
    'age without a block at which the lowest nonce is replaced at higher fees, and later ones are sent again',
    1000,
    15_000,
  ),
  SVC_ANCHOR_MAX_FEE_GWEI: Whole(
    'highest fee per gas that is signed; above it proofs stay queued and replacements wait',
    1,
    500,
  ),
  SVC_GATE_TOKEN: Optional('ERC-20 contract of the token gate', address),
  SVC_GATE_MIN_BALANCE: Decimal(
    "least balance that meets the gate, in the token's smallest unit",
    '1',
  ),
  SVC_SIGNUP: OneOf(
    ['open', 'gate'],
    'open',
    'who may open an account: anyone, or holders of the token',
  ),
  SVC_SIGNUP_ANCHORS: Whole('anchors granted to a new account', 0, 0),
  SVC_SIGNUP_GAS_WEI: Decimal('gas credit granted to a new account, in wei', '0'),
  SVC_VERIFY_MAX_AGE_MS: Whole(
    'how old the chain read behind a public verification may be',
    0,
    0,
    60_000,
  ),
  SVC_TELEMETRY_RETENTION_DAYS: Whole(
    'age at which samples are deleted; 0 keeps them',
    0,
    0,
    36_500,
  ),
  SVC_EVENT_RETENTION_DAYS: Whole('age at which events are deleted; 0 keeps them', 0, 0, 36_500),
  SVC_PROOF_RETENTION_DAYS: Whole(
    'age at which evidence is erased, its hash and receipt kept; 0 keeps it',
    0,
    0,
    36_500,
  ),
  SVC_DISK_MIN_FREE_MB: Whole('free space below which only completions are taken, in MiB', 0, 256),
  SVC_METRICS_TOKEN: Optional(
    'Bearer key that /metrics asks for (default: none, and it answers loopback only)',
    '^\\S{16,}$',
  ),
  SVC_TRUST_PROXY: Type.String({
    pattern: '\\S',
    default: 'false',
    description:
      'proxies that are believed whom they speak for (X-Forwarded-For, for the log): addresses or CIDR ranges, comma-separated; false: none',
  }),
  SVC_LOG_LEVEL: OneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
    'least severe messages to log',
  ),
});

export type Environment = Readonly<Static<typeof environment>>;

/** Variables whose value is never printed. */
export const secretVariables: ReadonlySet<string> = new Set([
  'SVC_ANCHOR_PRIVATE_KEY',
  'SVC_CHAIN_RPC_URL',
  'SVC_DATABASE_URL',
  'SVC_METRICS_TOKEN',
]);

export type ServerConfig = ReturnType<typeof readConfig>;

/**
 * Effective configuration of `svc-server`. Throws `invalid_configuration` with every fault at once;
 * what `start` cannot do without counts as one where `needed` names it.
 */
export function readConfig(
  variables: NodeJS.ProcessEnv,
  needed: { chain: boolean } = { chain: false },
) {
  const values = readEnvironment(environment, variables, {
    prefix: 'SVC_',
    foreign: /^SVC_(AGENT_|URL$|PROFILE$|CONFIG_DIR$)/,
    hint: 'svc-server config --describe lists every variable; svc-server dev needs none of them.',
    faultsOf: (given) => [...(needed.chain ? missingOf(given) : []), ...crossFaults(given)],
  });
  const origin = values.SVC_BASE_URL ?? `http://${hostInUrl(values.SVC_HOST)}:${values.SVC_PORT}`;
  return Object.freeze({
    values,
    host: values.SVC_HOST,
    port: values.SVC_PORT,
    /** Exact origin without a trailing slash; with port 0 main.ts puts in the real one. */
    baseUrl: new URL(origin).origin,
    dataDir: path.resolve(values.SVC_DATA_DIR),
    database: databaseConfig(values),
    rpcUrls: listOf(values.SVC_CHAIN_RPC_URL),
    trustedProxies: trustedProxies(values.SVC_TRUST_PROXY),
    anchorKeys: anchorKeys(values),
    nativeCurrency: nativeCurrency(values.SVC_NATIVE_CURRENCY),
    gate:
      values.SVC_GATE_TOKEN === undefined
        ? null
        : { token: values.SVC_GATE_TOKEN, minBalance: BigInt(values.SVC_GATE_MIN_BALANCE) },
    telemetryRetentionMs: retentionMs(values.SVC_TELEMETRY_RETENTION_DAYS),
    eventRetentionMs: retentionMs(values.SVC_EVENT_RETENTION_DAYS),
    proofRetentionMs: retentionMs(values.SVC_PROOF_RETENTION_DAYS),
    signup: {
      mode: values.SVC_SIGNUP,
      anchors: values.SVC_SIGNUP_ANCHORS,
      gasWei: BigInt(values.SVC_SIGNUP_GAS_WEI),
    },
  });
}

/** Where a service keeps everything. The URL is a secret. */
export type DatabaseConfig =
  | { kind: 'sqlite'; path: string }
  | { kind: 'postgres'; url: string; poolMax: number; pooler: boolean };

function databaseConfig(
  values: Pick<
    Environment,
    'SVC_DATA_DIR' | 'SVC_DATABASE_URL' | 'SVC_DATABASE_POOL_MAX' | 'SVC_DATABASE_POOLER'
  >,
): DatabaseConfig {
  const url = values.SVC_DATABASE_URL ?? `sqlite:${path.join(values.SVC_DATA_DIR, 'svc.db')}`;
  if (url.startsWith('sqlite:')) {
    return { kind: 'sqlite', path: path.resolve(url.slice('sqlite:'.length)) };
  }
  const { SVC_DATABASE_POOL_MAX: poolMax, SVC_DATABASE_POOLER: pooler } = values;
  return { kind: 'postgres', url, poolMax, pooler };
}

function listOf(text = ''): readonly string[] {
  return text.split(',').flatMap((entry) => entry.trim() || []);
}

function trustedProxies(text = 'false'): readonly string[] {
  return text === 'false' ? [] : listOf(text);
}

/** An address, or a range of them as in 10.0.0.0/8. */
function isAddressRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  return isIP(address) !== 0 && fits && rest.length === 0;
}

/** What `loadAnchorKeys` reads; empty where no key is configured. */
function anchorKeys(
  values: Pick<
    Environment,
    'SVC_ANCHOR_PRIVATE_KEY' | 'SVC_ANCHOR_KEY_FILE' | 'SVC_ANCHOR_KEY_PASSWORD_FILE'
  >,
): ({ privateKey: string } | { file: string; passwordFile: string | undefined })[] {
  const passwords = listOf(values.SVC_ANCHOR_KEY_PASSWORD_FILE);
  return [
    ...listOf(values.SVC_ANCHOR_PRIVATE_KEY).map((privateKey) => ({ privateKey })),
    ...listOf(values.SVC_ANCHOR_KEY_FILE).map((file, i) => ({
      file,
      passwordFile: passwords[i] ?? passwords[0],
    })),
  ];
}

/** Null keeps. */
function retentionMs(days: number): number | null {
  return days === 0 ? null : days * 24 * 60 * 60_000;
}

type Given = Readonly<Partial<Record<keyof Environment, string>>>;

const urlVariables = ['SVC_BASE_URL', 'SVC_EXPLORER_URL', 'SVC_PUBLIC_RPC_URL'] as const;

/** Faults that the schema of one variable does not show. */
function crossFaults(given: Given): string[] {
  const faults = urlVariables
    .filter((name) => given[name] !== undefined && !URL.canParse(given[name]))
    .map((name) => `${name} is not a URL`);
  if (given.SVC_BASE_URL === undefined && !isLoopback(given.SVC_HOST ?? '127.0.0.1')) {
    faults.push('SVC_BASE_URL is required when SVC_HOST is not loopback');
  }
  if (
    URL.canParse(given.SVC_BASE_URL ?? '') &&
    new URL(given.SVC_BASE_URL ?? '').pathname !== '/'
  ) {
    faults.push('SVC_BASE_URL must be an origin, without a path');
  }
  if (given.SVC_DATABASE_URL?.startsWith('postgres') && !URL.canParse(given.SVC_DATABASE_URL)) {
    faults.push(
      'SVC_DATABASE_URL is not a URL; in user and password %40 stands for @, %3A for :, %2F for /, %25 for %',
    );
  }
  if (!trustedProxies(given.SVC_TRUST_PROXY).every(isAddressRange)) {
    faults.push('SVC_TRUST_PROXY is neither false nor a list of addresses or CIDR ranges');
  }
  faults.push(...rpcUrlFaults(listOf(given.SVC_CHAIN_RPC_URL)));
  if (given.SVC_ANCHOR_PRIVATE_KEY !== undefined && given.SVC_ANCHOR_KEY_FILE !== undefined) {
    faults.push('SVC_ANCHOR_PRIVATE_KEY and SVC_ANCHOR_KEY_FILE exclude each other');
  }
  const passwords = listOf(given.SVC_ANCHOR_KEY_PASSWORD_FILE).length;
  if (passwords > 1 && passwords !== listOf(given.SVC_ANCHOR_KEY_FILE).length) {
    faults.push('SVC_ANCHOR_KEY_PASSWORD_FILE names neither one file nor one for each key file');
  }
  if (given.SVC_SIGNUP === 'gate' && given.SVC_GATE_TOKEN === undefined) {
    faults.push('SVC_SIGNUP=gate needs SVC_GATE_TOKEN');
  }
  return faults;
}

/** An endpoint that stands there twice would agree with itself. */
function rpcUrlFaults(urls: readonly string[]): string[] {
  if (!urls.every((url) => URL.canParse(url))) return ['SVC_CHAIN_RPC_URL is not a URL'];
  const distinct = new Set(urls.map((url) => new URL(url).href));
  return distinct.size < urls.length ? ['SVC_CHAIN_RPC_URL names an endpoint twice'] : [];
}

function missingOf(given: Given): string[] {
  const hasKey =
    given.SVC_ANCHOR_PRIVATE_KEY !== undefined || given.SVC_ANCHOR_KEY_FILE !== undefined;
  return [
    ...(given.SVC_CHAIN_RPC_URL === undefined ? ['SVC_CHAIN_RPC_URL is not set'] : []),
    ...(hasKey ? [] : ['SVC_ANCHOR_KEY_FILE (or SVC_ANCHOR_PRIVATE_KEY) is not set']),
  ];
}

export function hostInUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function nativeCurrency(text: string | undefined) {
  if (text === undefined) return null;
  const [name = '', symbol = '', decimals = ''] = text.split(',');
  return { name, symbol, decimals: Number(decimals) };
}
