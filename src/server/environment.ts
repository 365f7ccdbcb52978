// The environment variables of the server: names, defaults, documentation.
import { type Static, Type } from 'typebox';

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

/** The schema of the environment of `svc-server`. Defaults, documentation and .env.example derive from it. */
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
      'proxies whose X-Forwarded-For is believed, for the log: addresses or CIDR ranges, comma-separated; false: none',
  }),
  SVC_LOG_LEVEL: OneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
    'least severe messages to log',
  ),
  SVC_LOG_FORMAT: Type.Optional(
    Type.Unsafe<'json' | 'pretty'>({
      type: 'string',
      enum: ['json', 'pretty'],
      description: 'Format of the log (default: pretty on a terminal, otherwise json).',
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
]);
