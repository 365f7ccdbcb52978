// The environment variables of the server: names, defaults, documentation.
import { type Static, Type } from 'typebox';

const Decimal = (description: string, fallback: string) =>
  Type.String({ pattern: '^(0|[1-9]\\d{0,77})$', default: fallback, description });
/** A whole number with a default. */
const Whole = (
  range: { minimum: number; default: number; maximum?: number },
  description: string,
) => Type.Integer({ maximum: 2 ** 31 - 1, ...range, description });
const RetentionDays = (description: string) =>
  Whole({ minimum: 0, default: 0, maximum: 36_500 }, description);
const OptionalWhole = (range: { minimum: number; maximum?: number }, description: string) =>
  Type.Optional(Type.Integer({ ...range, description }));
const Optional = (description: string, pattern = '\\S') =>
  Type.Optional(Type.String({ pattern, description }));

const OneOf = <Value extends string>(values: Value[], fallback: Value, description: string) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, default: fallback, description });

const address = '^0x[0-9a-fA-F]{40}$';
const httpUrl = '^https?://[^\\s,]+$';

/** The schema of the environment of `svc-server`. Defaults, documentation and .env.example derive from it. */
export const environment = Type.Object({
  SVC_HOST: Type.String({ default: '127.0.0.1', description: 'Address to listen on' }),
  SVC_PORT: Whole(
    { minimum: 0, default: 3000, maximum: 65_535 },
    'Port to listen on; 0 chooses a free port',
  ),
  SVC_BASE_URL: Optional(
    'Public origin of the service; its host is the domain in the sign-in message; required if SVC_HOST is not loopback (default: http://HOST:PORT)',
    httpUrl,
  ),
  SVC_DATA_DIR: Type.String({
    default: './data',
    description: 'Folder of the SQLite database and of its snapshots before migrations',
  }),
  SVC_DATABASE_URL: Optional(
    'Database: sqlite:PATH for one instance, postgres://… for any number of instances (default: sqlite:DATA_DIR/svc.db)',
    '^(sqlite:.+|postgres(ql)?://.+)$',
  ),
  SVC_DATABASE_POOL_MAX: Whole(
    { minimum: 2, default: 10, maximum: 1000 },
    'Maximum number of PostgreSQL connections of this instance, not counting the connection for LISTEN',
  ),
  SVC_DATABASE_POOLER: Type.Boolean({
    default: false,
    description:
      'Whether the server connects through a PostgreSQL pooler in transaction mode, such as PgBouncer',
  }),
  SVC_CHAIN_RPC_URL: Optional(
    'JSON-RPC URLs of the anchoring chain, comma-separated; required by start. With several URLs, at least two must agree before the service issues a receipt. svc-server never prints the value',
    '^https?://[^\\s,]+( *, *https?://[^\\s,]+)*$',
  ),
  SVC_ALLOW_PLAINTEXT: Optional(
    'Which connections to other machines may be unencrypted: postgres, rpc, or both, comma-separated (default: none)',
    '^(postgres|rpc)( *, *(postgres|rpc))?$',
  ),
  SVC_CHAIN_ID: OptionalWhole(
    { minimum: 1 },
    'Chain id. If SVC_CHAIN_RPC_URL serves another chain, the start fails (default: read once from SVC_CHAIN_RPC_URL, then stored)',
  ),
  SVC_CHAIN_NAME: Optional('Chain name for wallets (default: from the list of known chains)'),
  SVC_CHAIN_TESTNET: Type.Optional(
    Type.Boolean({
      description: 'Whether the chain is a test network (default: from the list of known chains)',
    }),
  ),
  SVC_EXPLORER_URL: Optional(
    'URL of the block explorer (default: from the list of known chains, otherwise the service itself)',
    httpUrl,
  ),
  SVC_PUBLIC_RPC_URL: Optional(
    'RPC URL for wallets (default: from the list of known chains). Required for another chain if SVC_BASE_URL is not loopback',
    httpUrl,
  ),
  SVC_NATIVE_CURRENCY: Optional(
    'Native currency as NAME,SYMBOL,DECIMALS (default: from the list of known chains)',
    '^[^,]+,[^,]{2,11},([0-9]|[12][0-9]|3[0-6])$',
  ),
  SVC_ANCHOR_PRIVATE_KEY: Optional(
    'Private keys of the anchoring accounts, 64 hex digits each, comma-separated. Prefer SVC_ANCHOR_KEY_FILE',
    '^(0x)?[0-9a-fA-F]{64}(,(0x)?[0-9a-fA-F]{64})*$',
  ),
  SVC_ANCHOR_KEY_FILE: Optional(
    'Files with the private keys of the anchoring accounts, one key per file, in hex or as a V3 keystore, comma-separated; required by start unless SVC_ANCHOR_PRIVATE_KEY is set',
  ),
  SVC_ANCHOR_KEY_PASSWORD_FILE: Optional(
    'Files with the passwords of the keystores, comma-separated: one file for all keystores, or one file per key file',
  ),
  SVC_ANCHOR_TIMEOUT_MS: Whole(
    { minimum: 0, default: 30_000, maximum: 600_000 },
    'Maximum time in ms that the request to complete a task waits for the anchor. After this time, the response is 202',
  ),
  SVC_ANCHOR_PROMISE_HOURS: Whole(
    { minimum: 1, default: 24, maximum: 720 },
    'Hours after the completion of a task by which the service promises to anchor it, in each response 202',
  ),
  SVC_ANCHOR_CONFIRMATIONS: Whole(
    { minimum: 1, default: 1, maximum: 1000 },
    'Number of confirmations before a receipt is issued. The block that includes the anchor counts as the first confirmation',
  ),
  SVC_ANCHOR_FINALITY_DEPTH: OptionalWhole(
    { minimum: 1, maximum: 10_000 },
    "Number of confirmations after which an anchor is final. If a reorganization removes more blocks than this, a proof may be anchored twice (default: the chain's finalized tag, or 64 confirmations on chains without this tag)",
  ),
  SVC_ANCHOR_BATCH_MAX: Whole(
    { minimum: 1, default: 16_384, maximum: 16_384 },
    'Maximum number of proofs in one transaction',
  ),
  SVC_ANCHOR_LINGER_MS: Whole(
    { minimum: 0, default: 50, maximum: 60_000 },
    'Minimum time in ms for which the service collects proofs for a batch while a transaction is pending. On slow chains, the service waits longer',
  ),
  SVC_ANCHOR_MAX_IN_FLIGHT: Whole(
    { minimum: 1, default: 4, maximum: 64 },
    'Maximum number of pending transactions per anchoring account',
  ),
  SVC_ANCHOR_BUMP_AFTER_MS: Whole(
    { minimum: 1000, default: 15_000 },
    'Time in ms after which the service raises the fees of the pending transaction with the lowest nonce, if a new block came without it',
  ),
  SVC_ANCHOR_MAX_FEE_GWEI: Whole(
    { minimum: 1, default: 500 },
    'Maximum fee per gas in gwei. While the chain demands more, proofs stay queued. Replacements of stuck transactions never exceed this fee',
  ),
  SVC_ANCHOR_MAX_TIP_GWEI: Whole(
    { minimum: 0, default: 100 },
    'Maximum tip per gas, in gwei, of the first variant of an anchor. Replacements may have a higher tip',
  ),
  SVC_ANCHOR_MAX_GAS: Whole(
    { minimum: 21_000, default: 2_000_000, maximum: 16_777_216 },
    'Maximum gas limit of a transaction',
  ),
  SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR: Optional(
    'Maximum total cost in wei of the anchors signed in one hour. Anchors count at their maximum possible cost, without replacements (default: no limit)',
    '^(0|[1-9]\\d{0,77})$',
  ),
  SVC_CHAIN_PROOFS: Type.Boolean({
    default: true,
    description:
      'Store a chain proof of each final anchor. A bundle with a chain proof can be verified without a node',
  }),
  SVC_GATE_TOKEN: Optional(
    'Address of an ERC-20 token (token gate). Only wallets with SVC_GATE_MIN_BALANCE of it get the sign-up grant, and, with SVC_SIGNUP=gate, may open an account',
    address,
  ),
  SVC_GATE_MIN_BALANCE: Decimal(
    "Minimum balance for the token gate, in the token's smallest unit",
    '1',
  ),
  SVC_SIGNUP: OneOf(
    ['open', 'gate'],
    'open',
    'Who may open an account: anyone (open), or holders of the token (gate)',
  ),
  SVC_SIGNUP_ANCHORS: Whole(
    { minimum: 0, default: 0 },
    'Number of anchors granted to a new account (anchor quota)',
  ),
  SVC_SIGNUP_GAS_WEI: Decimal('Gas credit granted to a new account, in wei', '0'),
  SVC_SIGNUP_DELAY_HOURS: Whole(
    { minimum: 0, default: 0, maximum: 8760 },
    'Hours from the first sign-in of a wallet (with a token gate: the first one at which it holds enough) until a sign-in gets the sign-up grant',
  ),
  SVC_SIGNUP_ANCHORS_PER_DAY: OptionalWhole(
    { minimum: 0 },
    'Maximum number of anchors granted to all new accounts in 24 hours. Above it, an account gets its grant at a later sign-in (default: no limit)',
  ),
  SVC_CREDIT_URL: Optional(
    'Page where account owners get credits; the dashboard links to it when credits run low (default: none)',
    httpUrl,
  ),
  SVC_VERIFY_RPC_PER_SECOND: Whole(
    { minimum: 1, default: 200 },
    'Maximum number of JSON-RPC calls per second of an instance for public verification. Sign-in, readiness and chain proofs share a second limit of this size. Calls above it wait, and fail after 10 s: verification with overloaded, the others with chain_unavailable',
  ),
  SVC_TELEMETRY_RETENTION_DAYS: RetentionDays(
    'Age in days at which telemetry samples are deleted; 0 keeps them',
  ),
  SVC_EVENT_RETENTION_DAYS: RetentionDays('Age in days at which events are deleted; 0 keeps them'),
  SVC_PROOF_RETENTION_DAYS: RetentionDays(
    'Age in days at which evidence is erased; the hash and the receipt remain. 0 keeps evidence',
  ),
  SVC_WEBHOOK_KEY_FILE: Optional(
    'File with the key that encrypts the secrets of webhooks: 64 hex digits. All instances need the same key (default: none; webhooks are off)',
  ),
  SVC_WEBHOOK_ALLOW_NETWORKS: Optional(
    'Addresses or CIDR ranges, not public, that webhooks of SVC_WEBHOOK_ALLOW_WALLETS may connect to, comma-separated (default: none)',
  ),
  SVC_WEBHOOK_ALLOW_WALLETS: Optional(
    'Addresses of the wallets whose webhooks may connect to SVC_WEBHOOK_ALLOW_NETWORKS, comma-separated. Set both variables or neither (default: none)',
    `^ *0x[0-9a-fA-F]{40}( *, *0x[0-9a-fA-F]{40})* *$`,
  ),
  SVC_WEBHOOK_PROXY: Optional(
    'HTTP proxy for webhooks: http://HOST:PORT, with user and password if needed. It must allow CONNECT to addresses. Webhooks do not use HTTPS_PROXY (default: none)',
    '^https?://[^\\s,]+$',
  ),
  SVC_DISK_MIN_FREE_MB: Whole(
    { minimum: 0, default: 256 },
    'SQLite only: minimum free disk space in MiB. If less is free, the service accepts completions, but refuses other new data (disk_low)',
  ),
  SVC_STORAGE_POOL_MB: Whole(
    { minimum: 1, default: 4096 },
    'Size of the storage pool in MiB. All accounts to which the operator has granted no credits in the last 90 days share it (docs/operations.md)',
  ),
  SVC_STORAGE_ACCOUNT_MB: Whole(
    { minimum: 1, default: 102_400 },
    'Storage quota in MiB of each account to which the operator has granted credits in the last 90 days',
  ),
  SVC_OPERATOR_LISTEN: Optional(
    'Where the operator API listens: a loopback address with a port, such as 127.0.0.1:3900, or the path of a unix socket (default: no operator API)',
    '^(/.+|(127\\.\\d+\\.\\d+\\.\\d+|localhost|\\[::1\\]):\\d{1,5})$',
  ),
  SVC_OPERATOR_TOKEN_FILE: Optional(
    'File with the token of the operator API. At least 16 characters, mode 0600',
  ),
  SVC_METRICS_TOKEN: Optional(
    'Bearer token for /metrics, at least 16 characters (default: none; /metrics then answers only requests from loopback)',
    '^\\S{16,}$',
  ),
  SVC_TRUST_PROXY: Type.String({
    pattern: '\\S',
    default: 'false',
    description:
      'Addresses or CIDR ranges of trusted proxies, comma-separated; false for none. The service takes the client address from the header X-Forwarded-For of a trusted proxy',
  }),
  SVC_LOG_LEVEL: OneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
    'Minimum level of log lines',
  ),
  SVC_LOG_FORMAT: Type.Optional(
    Type.Unsafe<'json' | 'pretty'>({
      type: 'string',
      enum: ['json', 'pretty'],
      description: 'Format of the log (default: pretty on a terminal, otherwise json)',
    }),
  ),
});

export type Environment = Readonly<Static<typeof environment>>;

/** Variables whose values are never printed. */
export const secretVariables: ReadonlySet<string> = new Set([
  'SVC_ANCHOR_PRIVATE_KEY',
  'SVC_CHAIN_RPC_URL',
  'SVC_DATABASE_URL',
  'SVC_METRICS_TOKEN',
  'SVC_WEBHOOK_PROXY',
]);
