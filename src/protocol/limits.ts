// Every limit of the interface.
/**
 * Every limit of the HTTP interface; docs/http-api.md prints them.
 * Lengths are in Unicode code points. Sizes are in bytes of UTF-8, for JSON documents of the canonical form. Rates are
 * in requests per window.
 */
export const limits = {
  windowMs: 60_000,
  robotCallsPerWindow: 600,
  accountMutationsPerWindow: 300,
  challengesPerWindow: 60,
  /** The value of `X-RateLimit-Limit` on unmetered routes. */
  unmeteredPerWindow: 600,

  robotsPerAccount: 500,
  fleetsPerAccount: 100,
  robotsPerAssignment: 100,
  /** Opening another session ends the oldest. */
  sessionsPerAccount: 100,
  tokensPerAccount: 50,
  webhooksPerAccount: 10,
  /** Without a grant by the operator in the last 90 days. */
  webhooksWithoutGrant: 1,
  /** Per hour; see `webhooksWithoutGrant`. */
  webhookAttemptsPerHourWithoutGrant: 60,
  /** A webhook with more messages waiting is disabled. */
  webhookBacklog: 10_000,
  webhookDeliveriesMs: 7 * 24 * 60 * 60_000,
  /** How long messages also have the signature of the replaced secret. */
  webhookOverlapMs: 24 * 60 * 60_000,
  /** Closed alerts beyond the newest so many alerts of an account are deleted. */
  alertsKept: 10_000,
  openChallenges: 100_000,
  /** Of one wallet, for callers that send back neither cookie nor message. */
  challengesPerSource: 8,
  openCliCodes: 1_000,
  openCliCodesOfSource: 50,
  /** Wrong user codes that one session may enter. */
  wrongCliCodes: 10,

  /** Routes with a document. Leaves room for a text that is longer than its canonical form. */
  bodyBytes: 2 * 1024 * 1024,
  /** All other routes. Leaves room for every text at its limit with each character escaped. */
  smallBodyBytes: 64 * 1024,
  proofBytes: 256 * 1024,
  expectedResultBytes: 64 * 1024,
  signatureBytes: 8 * 1024,
  messageLength: 2000,
  documentDepth: 128,

  /** Credits that cover fewer anchors are reported as low. */
  lowAnchors: 10,

  titleLength: 200,
  nameLength: 80,
  descriptionLength: 2000,
  locationLength: 200,
  shiftLength: 200,
  tagLength: 32,
  tagsPerFleet: 20,
  sortOrderMax: Number.MAX_SAFE_INTEGER,

  samplesPerRequest: 50,
  /**
   * JSON values of a body with samples: the body, the list, and for each sample its six members and 2048 readings, such
   * as the ranges of two laser scans. Exceeds `mostValuesIn` of the metrics of one sample.
   */
  samplesValues: 2 + 50 * (6 + 2048),
  metricsBytes: 16 * 1024,
  payloadBytes: 16 * 1024,
  stateLength: 64,
  eventTypeLength: 64,
  eventMessageLength: 2000,
  /** Maximum lead of a sample's clock over the clock of the service. */
  sampleAheadMs: 24 * 60 * 60_000,
  /** Per robot and day in a series: counted states, aggregated metrics, and maximum length of their names. */
  seriesStates: 32,
  seriesMetrics: 64,
  seriesNameLength: 64,
  /** Maximum length of a series by resolution. */
  seriesMs: { minute: 6 * 60 * 60_000, hour: 31 * 24 * 60 * 60_000, day: 366 * 24 * 60 * 60_000 },
  /** Per instance of the service. Opening another stream ends the oldest. */
  streamsPerAccount: 16,
  /** How often the session of an open stream is checked. */
  streamCheckMs: 15_000,

  /** A robot seen within this time is online. */
  onlineMs: 5 * 60_000,

  pageSize: 50,
  pageSizeMax: 200,

  challengeLifetimeMs: 10 * 60_000,
  cliCodeLifetimeMs: 10 * 60_000,
  sessionLifetimeMs: 30 * 24 * 60 * 60_000,
  /** Lifetime of an account token, in days. */
  tokenDays: 90,
  tokenDaysMax: 365,
  auditLogMs: 365 * 24 * 60 * 60_000,
} as const;
