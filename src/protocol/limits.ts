// Every limit of the interface.
/**
 * Every limit of the HTTP interface. docs/http-api.md prints name, value and comment.
 * Lengths are in Unicode code points. Sizes are in bytes of UTF-8, for JSON documents of the canonical form. Rates are
 * in requests per window.
 */
export const limits = {
  /** Window of the rate limits. */
  windowMs: 60_000,
  /** Requests of one robot with its API key. */
  robotCallsPerWindow: 600,
  /** Tasks of one robot in batches. */
  batchItemsPerWindow: 3_000,
  /** Tasks in one batch. */
  batchItems: 50,
  /** JSON values in a batch, counting objects and arrays. */
  batchValues: 500_000,
  /** Requests of one account that change something. */
  accountMutationsPerWindow: 300,
  /** Sign-in challenges of one wallet from all new devices. Each known device has its own count. */
  challengesPerWindow: 60,
  /** `X-RateLimit-Limit` on public endpoints; under `/api/auth/`, it is `challengesPerWindow`. */
  unmeteredPerWindow: 600,

  /** Robots of an account. */
  robotsPerAccount: 500,
  /** Fleets of an account. */
  fleetsPerAccount: 100,
  /** Robots that one request can move to another fleet. */
  robotsPerAssignment: 100,
  /** Sessions of an account; a new one ends the oldest. */
  sessionsPerAccount: 100,
  /** Account tokens that have not expired. */
  tokensPerAccount: 50,
  /** Webhooks of an account with a grant of the operator in the last 90 days. */
  webhooksPerAccount: 10,
  /** Webhooks of any other account. */
  webhooksWithoutGrant: 1,
  /** Delivery attempts per hour of an account without such a grant. */
  webhookAttemptsPerHourWithoutGrant: 60,
  /** Messages that can wait for one webhook; above it, the service disables the webhook. */
  webhookBacklog: 10_000,
  /** Messages of one webhook that wait or are in the log. Above it, the service drops new messages and reports their number. */
  webhookBytes: 16 * 1024 * 1024,
  /** The same without such a grant. */
  webhookBytesWithoutGrant: 1024 * 1024,
  /** Age at which messages leave the log of a webhook. */
  webhookDeliveriesMs: 7 * 24 * 60 * 60_000,
  /** Time after a rotation in which messages also have a signature with the old secret. */
  webhookOverlapMs: 24 * 60 * 60_000,
  /** Alerts kept per account; then the oldest closed ones are deleted. */
  alertsKept: 10_000,
  /** Alerts that one request acknowledges. */
  alertsPerRequest: 1000,
  /** States in a rule of the kind `robot_state`. */
  alertStates: 16,
  /** Stored sign-in challenges of all wallets. */
  openChallenges: 100_000,
  /** Stored sign-in challenges of one wallet for one source (an IPv4 address, or an IPv6 /56). */
  challengesPerSource: 60,
  /** Open codes of command-line sign-ins. Above it, the service ends the oldest code of the source with the most. */
  openCliCodes: 1_000,
  /** Open codes of one source. */
  openCliCodesOfSource: 50,
  /** Wrong user codes that one session may enter. */
  wrongCliCodes: 10,

  /** Body of a request that needs a robot key. */
  bodyBytes: 2 * 1024 * 1024,
  /** Body of any other request. */
  smallBodyBytes: 64 * 1024,
  /** Evidence in canonical form. */
  proofBytes: 256 * 1024,
  /** `expected_result` in canonical form. */
  expectedResultBytes: 64 * 1024,
  /** Signature of a sign-in message, before hex. */
  signatureBytes: 8 * 1024,
  /** Sign-in message that a client sends back. */
  messageLength: 2000,
  /** Nesting of evidence and other JSON documents. */
  documentDepth: 128,

  /** Below this number of anchors, `low` of the credits is true. */
  lowAnchors: 10,
  /** Below this percentage, `battery_low_since` of a robot is set. */
  lowBatteryPct: 20,

  /** Title of a task. */
  titleLength: 200,
  /** Name of a robot, fleet, token or machine. */
  nameLength: 80,
  /** Description of a robot, fleet or task. */
  descriptionLength: 2000,
  /** Location of a fleet. */
  locationLength: 200,
  /** Shift of a fleet. */
  shiftLength: 200,
  /** One tag of a fleet. */
  tagLength: 32,
  /** Tags of a fleet. */
  tagsPerFleet: 20,
  /** Highest `sort_order` of a fleet. */
  sortOrderMax: Number.MAX_SAFE_INTEGER,

  /** Telemetry samples in one request. */
  samplesPerRequest: 50,
  /** JSON values in a body with samples, counting objects and arrays: 50 samples with 2048 metrics each fit. */
  samplesValues: 2 + 50 * (6 + 2048),
  /** `metrics` of a sample in canonical form. */
  metricsBytes: 16 * 1024,
  /** `payload` of an event in canonical form. */
  payloadBytes: 16 * 1024,
  /** State of a robot in a sample. */
  stateLength: 64,
  /** Type of an event. */
  eventTypeLength: 64,
  /** Message of an event. */
  eventMessageLength: 2000,
  /** Text that puts a key into use or out of use. */
  keyTextLength: 1000,
  /** A statement of a robot. */
  statementLength: 16_384,
  /** Distance of a statement's number from the highest one of its key. */
  statementsAhead: 100_000,
  /** Statements in one request. */
  statementsPerRequest: 50,
  /** Kept statements of one key with the same number. */
  statementsPerNumber: 16,
  /** How far the time of a sample may be in the future. */
  sampleAheadMs: 24 * 60 * 60_000,
  /** States in one point of a time series: those that arrived first. */
  seriesStates: 32,
  /** Metrics in one point of a time series: those that arrived first. */
  seriesMetrics: 64,
  /** Name of a state or metric in a time series; longer ones are left out. */
  seriesNameLength: 64,
  /** Longest time series. */
  seriesMs: { minute: 6 * 60 * 60_000, hour: 31 * 24 * 60 * 60_000, day: 366 * 24 * 60 * 60_000 },
  /** Event types in a report: those with the most errors. */
  reportEventTypes: 100,
  /** Open streams of an account per instance; a new one ends the oldest. */
  streamsPerAccount: 16,
  /** Interval of the checks of an open stream's session or token. */
  streamCheckMs: 15_000,

  /** A robot that was seen within this time counts as online. */
  onlineMs: 5 * 60_000,

  /** Default items of a page. */
  pageSize: 50,
  /** Maximum items of a page. */
  pageSizeMax: 200,

  /** Lifetime of a sign-in challenge. */
  challengeLifetimeMs: 10 * 60_000,
  /** Lifetime of the codes of a command-line sign-in. */
  cliCodeLifetimeMs: 10 * 60_000,
  /** Lifetime of a session. */
  sessionLifetimeMs: 30 * 24 * 60 * 60_000,
  /** Default lifetime of an account token. */
  tokenDays: 90,
  /** Longest lifetime of an account token. */
  tokenDaysMax: 365,
  /** Age at which entries of the audit log are deleted. */
  auditLogMs: 365 * 24 * 60 * 60_000,
  /** Entries of the audit log of one account; then the oldest are deleted. */
  auditLogEntries: 20_000,
} as const;
