// The server's configuration, read and validated once at startup.
import { isIP } from 'node:net';
import path from 'node:path';
import { isAddressRange, isLoopback } from '../base/addresses.ts';
import { readEnvironment } from '../base/read-environment.ts';
import { type Environment, environment, secretVariables } from './environment.ts';

export type ServerConfig = ReturnType<typeof readConfig>;

/**
 * The effective configuration of `svc-server`. Throws one `invalid_configuration` for all errors. With `needed.chain`,
 * missing variables that `start` requires are errors, too.
 */
export function readConfig(
  variables: NodeJS.ProcessEnv,
  needed: { chain: boolean } = { chain: false },
) {
  const values = readEnvironment(environment, variables, {
    prefix: 'SVC_',
    foreign: /^SVC_(AGENT_|URL$|TOKEN$|PROFILE$|CONFIG_DIR$)/,
    hint: 'Run `svc-server config --describe` to list every variable; `svc-server dev` needs none.',
    errorsOf: (given) => [...(needed.chain ? missingOf(given) : []), ...crossErrors(given)],
  });
  const origin = values.SVC_BASE_URL ?? `http://${hostInUrl(values.SVC_HOST)}:${values.SVC_PORT}`;
  const spend = values.SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR;
  return Object.freeze({
    values,
    /** Exact origin without a trailing slash. With port 0, main.ts replaces it with the actual one. */
    baseUrl: new URL(origin).origin,
    database: databaseConfig(values),
    rpcUrls: listOf(values.SVC_CHAIN_RPC_URL),
    trustedProxies: trustedProxies(values.SVC_TRUST_PROXY),
    webhookNetworks: listOf(values.SVC_WEBHOOK_ALLOW_NETWORKS),
    webhookWallets: listOf(values.SVC_WEBHOOK_ALLOW_WALLETS),
    anchorKeys: anchorKeys(values),
    nativeCurrency: nativeCurrency(values.SVC_NATIVE_CURRENCY),
    gate:
      values.SVC_GATE_TOKEN === undefined
        ? null
        : { token: values.SVC_GATE_TOKEN, minBalance: BigInt(values.SVC_GATE_MIN_BALANCE) },
    telemetryRetentionMs: retentionMs(values.SVC_TELEMETRY_RETENTION_DAYS),
    eventRetentionMs: retentionMs(values.SVC_EVENT_RETENTION_DAYS),
    proofRetentionMs: retentionMs(values.SVC_PROOF_RETENTION_DAYS),
    operator:
      values.SVC_OPERATOR_LISTEN && values.SVC_OPERATOR_TOKEN_FILE
        ? { address: values.SVC_OPERATOR_LISTEN, tokenFile: values.SVC_OPERATOR_TOKEN_FILE }
        : null,
    anchoring: {
      /** Blocks, counting the including one, before an inclusion is recorded. */
      confirmations: values.SVC_ANCHOR_CONFIRMATIONS,
      /** Maximum number of leaves in one transaction. */
      batchMax: values.SVC_ANCHOR_BATCH_MAX,
      /** Minimum batching window while a transaction is pending, in milliseconds. */
      lingerMs: values.SVC_ANCHOR_LINGER_MS,
      /** Maximum number of transactions that are sent and not mined. */
      maxInFlight: values.SVC_ANCHOR_MAX_IN_FLIGHT,
      /**
       * After this many milliseconds without inclusion, the lowest nonce is replaced at higher fees and the others are
       * sent again.
       */
      bumpAfterMs: values.SVC_ANCHOR_BUMP_AFTER_MS,
      /** Highest fee per gas that may be signed, in wei. */
      maxFeePerGas: BigInt(values.SVC_ANCHOR_MAX_FEE_GWEI) * 1_000_000_000n,
      /** Highest tip per gas that is offered at first, in wei. A replacement may raise it. */
      maxPriorityFeePerGas: BigInt(values.SVC_ANCHOR_MAX_TIP_GWEI) * 1_000_000_000n,
      /** Highest gas limit of a transaction. */
      maxGas: BigInt(values.SVC_ANCHOR_MAX_GAS),
      /** Highest cost of all anchors signed in an hour, in wei; null for no cap. */
      maxSpendWeiPerHour: spend === undefined ? null : BigInt(spend),
      /** Whether chain proofs of final anchors are built. */
      chainProofs: values.SVC_CHAIN_PROOFS,
    },
    signup: {
      mode: values.SVC_SIGNUP,
      anchors: values.SVC_SIGNUP_ANCHORS,
      gasWei: BigInt(values.SVC_SIGNUP_GAS_WEI),
      delayMs: values.SVC_SIGNUP_DELAY_HOURS * 60 * 60_000,
      anchorsPerDay: values.SVC_SIGNUP_ANCHORS_PER_DAY ?? null,
    },
  });
}

/** The database of a service. The URL is a secret. */
export type DatabaseConfig =
  | { kind: 'sqlite'; path: string }
  | { kind: 'postgres'; url: string; poolMax: number; pooler: boolean };

type Given = Readonly<Partial<Record<keyof Environment, string>>>;

const urlVariables = [
  'SVC_BASE_URL',
  'SVC_CREDIT_URL',
  'SVC_EXPLORER_URL',
  'SVC_PUBLIC_RPC_URL',
  'SVC_WEBHOOK_PROXY',
] as const;

export function hostInUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function databaseConfig(values: Environment): DatabaseConfig {
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

/** The sources for `loadAnchorKeys`; empty if no key is configured. */
function anchorKeys(values: Environment) {
  const passwords = listOf(values.SVC_ANCHOR_KEY_PASSWORD_FILE);
  return [
    ...listOf(values.SVC_ANCHOR_PRIVATE_KEY).map((privateKey) => ({ privateKey })),
    ...listOf(values.SVC_ANCHOR_KEY_FILE).map((file, i) => ({
      file,
      passwordFile: passwords[i] ?? passwords[0],
    })),
  ];
}

/** `null` disables deletion. */
function retentionMs(days: number): number | null {
  return days === 0 ? null : days * 24 * 60 * 60_000;
}

/** Errors that the schema of a single variable cannot express. */
function crossErrors(given: Given): string[] {
  const errors = urlVariables
    .filter((name) => given[name] !== undefined && !URL.canParse(given[name]))
    .map((name) => `${name} is not a URL`);
  if (given.SVC_BASE_URL === undefined && !isLoopback(given.SVC_HOST ?? '127.0.0.1')) {
    errors.push('SVC_BASE_URL is required when SVC_HOST is not loopback');
  }
  if (
    URL.canParse(given.SVC_BASE_URL ?? '') &&
    new URL(given.SVC_BASE_URL ?? '').pathname !== '/'
  ) {
    errors.push('SVC_BASE_URL must be an origin, without a path');
  }
  if (given.SVC_DATABASE_URL?.startsWith('postgres') && !URL.canParse(given.SVC_DATABASE_URL)) {
    errors.push(
      'SVC_DATABASE_URL is not a URL; in user and password, write @ as %40, : as %3A, / as %2F and % as %25',
    );
  }
  if (!trustedProxies(given.SVC_TRUST_PROXY).every(isAddressRange)) {
    errors.push('SVC_TRUST_PROXY must be false or a list of addresses or CIDR ranges');
  }
  if (!listOf(given.SVC_WEBHOOK_ALLOW_NETWORKS).every(isAddressRange)) {
    errors.push('SVC_WEBHOOK_ALLOW_NETWORKS must be a list of addresses or CIDR ranges');
  }
  if (
    (given.SVC_WEBHOOK_ALLOW_NETWORKS === undefined) !==
    (given.SVC_WEBHOOK_ALLOW_WALLETS === undefined)
  ) {
    errors.push(
      'SVC_WEBHOOK_ALLOW_NETWORKS and SVC_WEBHOOK_ALLOW_WALLETS must be set together: the networks are open only to webhooks of the listed wallets',
    );
  }
  errors.push(...rpcUrlErrors(listOf(given.SVC_CHAIN_RPC_URL)), ...plaintextErrors(given));
  if (given.SVC_ANCHOR_PRIVATE_KEY !== undefined && given.SVC_ANCHOR_KEY_FILE !== undefined) {
    errors.push('SVC_ANCHOR_PRIVATE_KEY and SVC_ANCHOR_KEY_FILE must not both be set');
  }
  const passwords = listOf(given.SVC_ANCHOR_KEY_PASSWORD_FILE).length;
  if (passwords > 1 && passwords !== listOf(given.SVC_ANCHOR_KEY_FILE).length) {
    errors.push('SVC_ANCHOR_KEY_PASSWORD_FILE must name one file, or one per key file');
  }
  if ((given.SVC_OPERATOR_LISTEN === undefined) !== (given.SVC_OPERATOR_TOKEN_FILE === undefined)) {
    errors.push('SVC_OPERATOR_LISTEN and SVC_OPERATOR_TOKEN_FILE must be set together');
  }
  if (given.SVC_SIGNUP === 'gate' && given.SVC_GATE_TOKEN === undefined) {
    errors.push('SVC_SIGNUP=gate requires SVC_GATE_TOKEN');
  }
  return errors;
}

/** Rejects an endpoint that is listed twice: it would form a quorum with itself. */
function rpcUrlErrors(urls: readonly string[]): string[] {
  if (!urls.every((url) => URL.canParse(url))) return ['SVC_CHAIN_RPC_URL is not a URL'];
  const distinct = new Set(urls.map((url) => new URL(url).href));
  return distinct.size < urls.length ? ['SVC_CHAIN_RPC_URL must not list a URL twice'] : [];
}

/** Refuses addresses at which others on the network could read and change the data. */
function plaintextErrors(given: Given): string[] {
  const allowed = listOf(given.SVC_ALLOW_PLAINTEXT);
  const isPlain = (url: string) => {
    if (!URL.canParse(url)) return false;
    const { protocol, hostname } = new URL(url);
    return protocol === 'http:' && !isLoopback(hostname);
  };
  const errors: string[] = [];
  if (!allowed.includes('postgres') && isPlainDatabase(given)) {
    errors.push(
      'SVC_DATABASE_URL connects to another machine without TLS; add sslmode=verify-full to it, or set SVC_ALLOW_PLAINTEXT=postgres if you trust the network',
    );
  }
  if (!allowed.includes('rpc') && listOf(given.SVC_CHAIN_RPC_URL).some(isPlain)) {
    errors.push(
      'SVC_CHAIN_RPC_URL has an http address on another machine; use https, or set SVC_ALLOW_PLAINTEXT=rpc if you trust the network',
    );
  }
  return errors;
}

/** As node-postgres reads the address: parameters come before the host, and PGHOST and PGSSLMODE fill the gaps. */
function isPlainDatabase(given: Given & { PGHOST?: string; PGSSLMODE?: string }): boolean {
  const url = given.SVC_DATABASE_URL ?? '';
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) return false;
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.getAll('host').at(-1) || hostname || given.PGHOST || 'localhost';
  const mode = searchParams.getAll('sslmode').at(-1) || given.PGSSLMODE || '';
  const isLocal = isLoopback(host) || /^(\/|%2f)/i.test(host);
  const ssl = searchParams.getAll('ssl').at(-1);
  const hasTls =
    ssl === undefined
      ? ['require', 'verify-ca', 'verify-full', 'no-verify'].includes(mode)
      : ['1', 'true'].includes(ssl);
  return !isLocal && !hasTls;
}

function missingOf(given: Given): string[] {
  const hasKey =
    given.SVC_ANCHOR_PRIVATE_KEY !== undefined || given.SVC_ANCHOR_KEY_FILE !== undefined;
  return [
    ...(given.SVC_CHAIN_RPC_URL === undefined ? ['SVC_CHAIN_RPC_URL is not set'] : []),
    ...(hasKey ? [] : ['SVC_ANCHOR_KEY_FILE (or SVC_ANCHOR_PRIVATE_KEY) is not set']),
  ];
}

function nativeCurrency(text: string | undefined) {
  if (text === undefined) return null;
  const [name = '', symbol = '', decimals = ''] = text.split(',');
  return { name, symbol, decimals: Number(decimals) };
}

export const effectiveValues = (variables: NodeJS.ProcessEnv) =>
  effectiveConfig(readConfig(variables));

/** The effective value of each variable. A secret only shows that it is set. */
export function effectiveConfig({ values, baseUrl, database }: ServerConfig) {
  const secrets = [...secretVariables].filter((name) => Object.hasOwn(values, name));
  return {
    ...values,
    SVC_BASE_URL: baseUrl,
    ...(database.kind === 'sqlite' && { SVC_DATABASE_URL: `sqlite:${database.path}` }),
    ...Object.fromEntries(secrets.map((name) => [name, '(set)'])),
  };
}
