// Every limit of the interface.
/**
 * Every limit of the HTTP interface. docs/http-api.md prints name, value and comment.
 * Lengths are in Unicode code points. Sizes are in bytes of UTF-8, for JSON documents of the canonical form. Rates are
 * in requests per window.
 */
export const limits = {
  /** Length of the window in which a rate limit counts requests. */
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
  /** Sign-in challenges of one wallet, from all new devices together. Each device on which the wallet has signed in before has its own count with the same limit. */
  challengesPerWindow: 60,
  /** Fixed value of `X-RateLimit-Limit` on public endpoints with `Rate limit: none`. If the path begins with `/api/auth/`, the fixed value is `challengesPerWindow`. */
  unmeteredPerWindow: 600,

  /** Robots of an account. */
  robotsPerAccount: 500,
  /** Fleets of an account. */
  fleetsPerAccount: 100,
  /** Robots that one request can move to another fleet. */
  robotsPerAssignment: 100,
  /** Sessions of an account. Above this number, the service ends the oldest session. */
  sessionsPerAccount: 100,
  /** Account tokens that have not expired. */
  tokensPerAccount: 50,
  /** Webhooks of an account to which the operator granted credits in the last 90 days. */
  webhooksPerAccount: 10,
  /** Webhooks of an account to which the operator granted no credits in the last 90 days. */
  webhooksWithoutGrant: 1,
  /** Attempts per hour to deliver messages of an account to which the operator granted no credits in the last 90 days. */
  webhookAttemptsPerHourWithoutGrant: 60,
  /** Messages that can wait for one webhook. If more messages wait, the service disables the webhook. */
  webhookBacklog: 10_000,
  /** Messages of one webhook that wait or are in the log, of an account to which the operator granted credits in the last 90 days. If there is no room, the service drops new messages and reports their numbers. */
  webhookBytes: 16 * 1024 * 1024,
  /** The same for an account to which the operator granted no credits in the last 90 days. */
  webhookBytesWithoutGrant: 1024 * 1024,
  /** Age at which messages are removed from the log of a webhook. */
  webhookDeliveriesMs: 7 * 24 * 60 * 60_000,
  /** Time after a rotation of the secret in which messages also have a signature with the old secret. */
  webhookOverlapMs: 24 * 60 * 60_000,
  /** Alerts kept per account. Above this number, the oldest closed alerts are deleted. */
  alertsKept: 10_000,
  /** Alerts that one request acknowledges. */
  alertsPerRequest: 1000,
  /** States that an alert rule of the kind `robot_state` names. */
  alertStates: 16,
  /** Sign-in challenges that the service stores for all wallets together. */
  openChallenges: 100_000,
  /** Stored sign-in challenges of one wallet for one source (an IPv4 address, or an IPv6 /56): as many as in one minute. */
  challengesPerSource: 60,
  /**
   * Open codes of command-line sign-ins. Above this number, the service looks for the source with the most open codes,
   * and ends the oldest code of this source. A source is an IPv4 address, or an IPv6 /56.
   */
  openCliCodes: 1_000,
  /** Open codes of command-line sign-ins that were requested by one source. */
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
  /** Signature of a sign-in message. The request contains two hex digits for each byte. */
  signatureBytes: 8 * 1024,
  /** Sign-in message that a client sends back. */
  messageLength: 2000,
  /** Nesting of evidence and other JSON documents. */
  documentDepth: 128,

  /** If the credits cover fewer anchors than this, the member `low` of the credits is true. */
  lowAnchors: 10,
  /** If the battery is below this percentage, the service sets `battery_low_since` of the robot. */
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
  /**
   * JSON values in a body with samples, counting objects and arrays. 50 samples with 2048 metrics each are allowed. The body and the list `samples` are 2 values. A sample is 1 object, 5 members and 2048 metrics: 2 + 50 * (1 + 5 + 2048) = 102702.
   */
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
  /** How far the number of a statement may be above the highest one of its key. */
  statementsAhead: 100_000,
  /** Statements in one request. */
  statementsPerRequest: 50,
  /** Different statements with the same number that are kept of one key. */
  statementsPerNumber: 16,
  /** How far the time of a sample may be in the future, by the clock of the service. */
  sampleAheadMs: 24 * 60 * 60_000,
  /** Maximum number of different states in one point of a time series: those that arrived first for its minute, hour or day. */
  seriesStates: 32,
  /** Maximum number of different metrics in one point of a time series: those that arrived first for its minute, hour or day. */
  seriesMetrics: 64,
  /** Name of a state or metric in a time series. Longer names are left out. */
  seriesNameLength: 64,
  /** Maximum length of a time series with this resolution. */
  seriesMs: { minute: 6 * 60 * 60_000, hour: 31 * 24 * 60 * 60_000, day: 366 * 24 * 60 * 60_000 },
  /** Open streams of an account on one instance of the service. Above this number, the service ends the oldest stream. */
  streamsPerAccount: 16,
  /** Interval at which the service checks the session or account token of an open stream. */
  streamCheckMs: 15_000,

  /** A robot that was seen within this time counts as online. */
  onlineMs: 5 * 60_000,

  /** Items of a page, if the request has no `limit`. */
  pageSize: 50,
  /** Maximum items of a page. */
  pageSizeMax: 200,

  /** Lifetime of a sign-in challenge. */
  challengeLifetimeMs: 10 * 60_000,
  /** Lifetime of the codes of a command-line sign-in. */
  cliCodeLifetimeMs: 10 * 60_000,
  /** Lifetime of a session. */
  sessionLifetimeMs: 30 * 24 * 60 * 60_000,
  /** Lifetime of an account token in days, if the request has no `expires_in_days`. */
  tokenDays: 90,
  /** Maximum lifetime of an account token in days. */
  tokenDaysMax: 365,
  /** Age at which entries of the audit log are deleted. */
  auditLogMs: 365 * 24 * 60 * 60_000,
  /** Entries of the audit log of one account. Above this number, the oldest are deleted earlier. */
  auditLogEntries: 20_000,
} as const;
