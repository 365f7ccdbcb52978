// Every limit of the interface.
/**
 * Every limit of the HTTP interface; docs/http-api.md prints them.
 * Lengths are Unicode code points; sizes are bytes of UTF-8, of the canonical form where a
 * JSON document is meant; rates are calls per window.
 */
export const limits = {
  windowMs: 60_000,
  robotCallsPerWindow: 600,
  accountMutationsPerWindow: 300,
  challengesPerWindow: 60,
  /** What `X-RateLimit-Limit` says where nothing is metered. */
  unmeteredPerWindow: 600,

  robotsPerAccount: 500,
  fleetsPerAccount: 100,
  robotsPerAssignment: 100,
  /** Opening one more ends the oldest. */
  sessionsPerAccount: 100,
  openChallenges: 100_000,
  challengesTried: 8,

  /** Where a document is taken; room for a text that is longer than its canonical form. */
  bodyBytes: 2 * 1024 * 1024,
  /** Everywhere else; room for every text at its limit, each character escaped. */
  smallBodyBytes: 64 * 1024,
  proofBytes: 256 * 1024,
  expectedResultBytes: 64 * 1024,
  signatureBytes: 8 * 1024,
  documentDepth: 128,

  /** Credits that cover fewer anchors are called low. */
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
   * JSON values of a body with samples: itself, the list, and of each sample its six and 2048 readings, such as
   * the ranges of two laser scans. More than `mostValuesIn` the metrics of one sample.
   */
  samplesValues: 2 + 50 * (6 + 2048),
  metricsBytes: 16 * 1024,
  payloadBytes: 16 * 1024,
  stateLength: 64,
  eventTypeLength: 64,
  eventMessageLength: 2000,
  /** How far ahead of the service a sample's clock may be. */
  sampleAheadMs: 24 * 60 * 60_000,
  /** Of a robot's day in series: states counted, metrics spread, and how long their names may be. */
  seriesStates: 32,
  seriesMetrics: 64,
  seriesNameLength: 64,
  /** Longest series by resolution. */
  seriesMs: { minute: 6 * 60 * 60_000, hour: 31 * 24 * 60 * 60_000, day: 366 * 24 * 60 * 60_000 },
  /** A robot seen within this time is online. */
  onlineMs: 5 * 60_000,

  pageSize: 50,
  pageSizeMax: 200,

  challengeLifetimeMs: 10 * 60_000,
  cliCodeLifetimeMs: 60_000,
  sessionLifetimeMs: 30 * 24 * 60 * 60_000,
} as const;
