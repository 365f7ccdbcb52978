-- The SQLite schema of version 1. Never edit it once it is released: add a migration.
--
-- Conventions: ids, wallets and hashes are stored as the text of the API. Amounts in wei are decimal text, because they
-- exceed SQLite's integers; code sums them as bigint. Times are milliseconds since the epoch. JSON is canonical text.
--
-- ledger and leaves hold wallets and task ids without a foreign key. What was paid and what reached the chain outlives
-- the task. Rows keyed by robot have no foreign key either: retention deletes the rows of a deleted robot later, in
-- small steps.

-- Account

CREATE TABLE accounts (
  wallet TEXT NOT NULL PRIMARY KEY,
  anchor_quota INTEGER NOT NULL CHECK (anchor_quota BETWEEN 0 AND 9007199254740991),
  gas_credit_wei TEXT NOT NULL CHECK (gas_credit_wei <> '' AND gas_credit_wei NOT GLOB '*[^0-9]*'),
  created_at INTEGER NOT NULL,
  -- First sign-in that qualified for the sign-up grant.
  qualified_at INTEGER,
  -- Round of the newest completion.
  last_round INTEGER NOT NULL DEFAULT -1,
  -- The operator suspended the account; NULL if it is active.
  suspended_at INTEGER,
  -- Its deletion began; NULL once it has ended.
  deleting_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_deleting ON accounts (wallet) WHERE deleting_at IS NOT NULL;

-- Signed changes of a balance. The sum of an account's entries is its balance.
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
  wallet TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'reserve', 'settle', 'release')),
  anchors INTEGER NOT NULL,
  gas_wei TEXT NOT NULL
    CHECK (gas_wei GLOB '[-0-9]*' AND gas_wei <> '-' AND gas_wei NOT GLOB '?*[^0-9]*'),
  task_id TEXT,
  cycle INTEGER,
  grant_id TEXT,
  note TEXT,
  at INTEGER NOT NULL,
  CHECK ((kind = 'grant') = (grant_id IS NOT NULL)),
  CHECK ((kind = 'grant') = (task_id IS NULL)),
  CHECK ((task_id IS NULL) = (cycle IS NULL)),
  CHECK (anchors = 0 OR kind <> 'settle'),
  CHECK (anchors = -1 OR kind <> 'reserve'),
  CHECK (anchors = 1 OR kind <> 'release'),
  CHECK (gas_wei NOT LIKE '-%' OR kind = 'reserve'),
  CHECK (gas_wei = '0' OR gas_wei LIKE '-%' OR kind <> 'reserve')
) STRICT;
CREATE INDEX ledger_wallet ON ledger (wallet, seq);
CREATE UNIQUE INDEX ledger_reserve ON ledger (task_id, cycle) WHERE kind = 'reserve';
CREATE UNIQUE INDEX ledger_release ON ledger (task_id, cycle) WHERE kind = 'release';
CREATE UNIQUE INDEX ledger_settle ON ledger (task_id) WHERE kind = 'settle';
CREATE UNIQUE INDEX ledger_grant ON ledger (grant_id) WHERE kind = 'grant';
CREATE INDEX ledger_funding ON ledger (wallet, at) WHERE kind = 'grant' AND grant_id NOT LIKE 'signup:%';
-- What came back unpaid, or was used up.
CREATE INDEX ledger_uncovered ON ledger (wallet, at)
  WHERE kind = 'release' OR (kind = 'settle' AND gas_wei = '0');
CREATE INDEX ledger_signup ON ledger (at, anchors) WHERE note = 'signup';
CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;

-- Sign-in

-- Authenticates challenges and devices (core/sign-in-messages.ts). A restore replaces it, because the restored
-- database has forgotten which challenges were spent.
CREATE TABLE challenge_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
INSERT INTO challenge_key VALUES (1, randomblob(32));

-- Challenges for callers that send back neither cookie nor message. source: the address prefix that asked.
CREATE TABLE challenges (
  seq INTEGER PRIMARY KEY,
  nonce TEXT NOT NULL UNIQUE,
  wallet TEXT NOT NULL,
  source TEXT NOT NULL,
  message TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX challenges_wallet ON challenges (wallet, source, seq);
CREATE INDEX challenges_source ON challenges (source, seq);
CREATE INDEX challenges_expiry ON challenges (expires_at);

CREATE TABLE spent_challenges (
  nonce TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_challenges_expiry ON spent_challenges (expires_at);

-- Maintained by triggers, so that the limit on open challenges never scans the table.
CREATE TABLE challenge_count (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  total INTEGER NOT NULL CHECK (total >= 0)
) STRICT;
INSERT INTO challenge_count VALUES (1, 0);
CREATE TRIGGER challenge_added AFTER INSERT ON challenges BEGIN
  UPDATE challenge_count SET total = total + 1;
END;
CREATE TRIGGER challenge_gone AFTER DELETE ON challenges BEGIN
  UPDATE challenge_count SET total = total - 1;
END;

CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  wallet TEXT NOT NULL REFERENCES accounts,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  signed_in_with TEXT NOT NULL DEFAULT 'wallet' CHECK (signed_in_with IN ('wallet', 'cli_code', 'token')),
  wrong_codes INTEGER NOT NULL DEFAULT 0,
  -- Of account tokens.
  name TEXT,
  scope TEXT CHECK (scope IN ('read', 'write')),
  last_used_at INTEGER,
  CHECK ((signed_in_with = 'token') = (name IS NOT NULL AND scope IS NOT NULL))
) STRICT;
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_wallet ON sessions (wallet, id);

-- Who did what to an account (protocol/audit-log.ts). Retention deletes the oldest entries.
CREATE TABLE audit_log (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL,
  kind TEXT NOT NULL,
  actor TEXT NOT NULL CHECK (actor IN ('session', 'token', 'operator', 'unknown')),
  actor_name TEXT,
  source TEXT,
  target_id TEXT,
  detail TEXT,
  count INTEGER NOT NULL CHECK (count = 1 OR kind = 'sign_in_failed'),
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_log_wallet ON audit_log (wallet, id);
CREATE UNIQUE INDEX audit_log_failures ON audit_log (wallet, at) WHERE kind = 'sign_in_failed';
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
WHEN OLD.kind <> 'sign_in_failed' OR NEW.count <= OLD.count BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- Codes that sign the command line in (RFC 8628). session_id: the session that allowed it.
CREATE TABLE cli_codes (
  device_hash TEXT NOT NULL PRIMARY KEY,
  user_hash TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  name TEXT NOT NULL,
  session_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cli_codes_expiry ON cli_codes (expires_at);
CREATE INDEX cli_codes_source ON cli_codes (source, expires_at);

-- Saved when the server stops; a running server counts in memory.
CREATE TABLE rate_counters (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- Seals the cursors of lists (core/paging.ts). Stored, so that a cursor stays valid across restarts.
CREATE TABLE cursor_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
INSERT INTO cursor_key VALUES (1, randomblob(32));

-- Robots and fleets

-- tags: a JSON array of texts.
CREATE TABLE fleets (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL REFERENCES accounts,
  name TEXT NOT NULL,
  description TEXT,
  location TEXT,
  shift TEXT,
  tags TEXT NOT NULL,
  sort_order INTEGER NOT NULL CHECK (sort_order BETWEEN 0 AND 9007199254740991),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX fleets_wallet ON fleets (wallet, sort_order, id);

-- fleet_id names a fleet of the same account. A foreign key could not check the account, so the writes do.
-- battery_at and state_at are the times of battery_pct and state, never later than their arrival. state_since is when
-- samples began to have this state, battery_since when the battery came to this side of limits.lowBatteryPct.
CREATE TABLE robots (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL REFERENCES accounts,
  name TEXT NOT NULL,
  description TEXT,
  fleet_id TEXT,
  key_hash TEXT UNIQUE,
  key_hint TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_seen_at INTEGER,
  battery_pct REAL,
  state TEXT,
  battery_at INTEGER,
  battery_since INTEGER,
  state_at INTEGER,
  state_since INTEGER,
  CHECK ((key_hash IS NULL) = (key_hint IS NULL))
) STRICT;
CREATE INDEX robots_wallet ON robots (wallet, id);
CREATE INDEX robots_fleet ON robots (fleet_id) WHERE fleet_id IS NOT NULL;

-- Deleted robots whose samples, roll-ups or events retention may still have to delete.
CREATE TABLE robot_traces (
  robot_id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER robot_gone AFTER DELETE ON robots BEGIN
  INSERT INTO robot_traces VALUES (OLD.id, OLD.wallet) ON CONFLICT DO NOTHING;
  DELETE FROM task_counts WHERE robot_id = OLD.id;
END;

-- Tasks

-- status is in both indexes, so that a filtered page costs the same as an unfiltered one.
CREATE TABLE tasks (
  id TEXT NOT NULL PRIMARY KEY,
  robot_id TEXT NOT NULL REFERENCES robots,
  wallet TEXT NOT NULL REFERENCES accounts,
  title TEXT NOT NULL,
  description TEXT,
  expected_result TEXT,
  occurred_at TEXT,
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'claimed' CHECK (status IN ('claimed', 'verified')),
  -- First completion that was refused for lack of credit.
  credit_refused_at INTEGER
) STRICT;
CREATE INDEX tasks_robot ON tasks (robot_id, status, created_at, id);
CREATE INDEX tasks_wallet ON tasks (wallet, status, created_at, id);
CREATE INDEX tasks_refused ON tasks (wallet, credit_refused_at)
  WHERE status = 'claimed' AND credit_refused_at IS NOT NULL;

-- Ids of deleted robots, which stay taken.
CREATE TABLE robot_tombstones (
  robot_id TEXT NOT NULL PRIMARY KEY,
  deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Ids of deleted tasks, which stay taken.
CREATE TABLE tombstones (
  task_id TEXT NOT NULL PRIMARY KEY,
  deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Maintained by triggers, so that no statistic counts tasks.
CREATE TABLE task_counts (
  robot_id TEXT NOT NULL PRIMARY KEY,
  claimed INTEGER NOT NULL CHECK (claimed >= 0),
  verified INTEGER NOT NULL CHECK (verified >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER task_counted AFTER INSERT ON tasks BEGIN
  INSERT INTO task_counts VALUES (NEW.robot_id, NEW.status = 'claimed', NEW.status = 'verified')
    ON CONFLICT (robot_id) DO UPDATE SET claimed = claimed + excluded.claimed,
      verified = verified + excluded.verified;
END;
CREATE TRIGGER task_recounted AFTER UPDATE OF status ON tasks WHEN NEW.status <> OLD.status BEGIN
  UPDATE task_counts SET
    claimed = claimed - (OLD.status = 'claimed') + (NEW.status = 'claimed'),
    verified = verified - (OLD.status = 'verified') + (NEW.status = 'verified')
  WHERE robot_id = NEW.robot_id;
END;
CREATE TRIGGER task_uncounted AFTER DELETE ON tasks BEGIN
  UPDATE task_counts SET claimed = claimed - (OLD.status = 'claimed'),
    verified = verified - (OLD.status = 'verified')
  WHERE robot_id = OLD.robot_id;
END;

-- Completions

-- A cycle is one reservation of credit. A generation is one place in the queue within a cycle.
-- reserve_seq is the ledger entry of the reservation. The queue is ordered by round, then by reserve_seq: an account has
-- one completion in each round, so that many of one account delay another account by one per round.
-- state stays 'included' from the settlement on; the attempt has the later states.
CREATE TABLE completions (
  task_id TEXT NOT NULL PRIMARY KEY REFERENCES tasks,
  state TEXT NOT NULL
    CHECK (state IN ('queued', 'submitted', 'included', 'finalized', 'reorged', 'failed')),
  proof_hash TEXT NOT NULL,
  claim_hash TEXT NOT NULL,
  leaf TEXT NOT NULL,
  cycle INTEGER NOT NULL CHECK (cycle >= 1),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  reserve_seq INTEGER NOT NULL UNIQUE,
  round INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  failure TEXT,
  CHECK ((state = 'failed') = (failure IS NOT NULL))
) STRICT;
CREATE INDEX completions_queue ON completions (round, reserve_seq) WHERE state = 'queued';
CREATE INDEX completions_waiting ON completions (queued_at) WHERE state IN ('queued', 'submitted');
CREATE INDEX completions_failed ON completions (updated_at) WHERE state = 'failed';
CREATE INDEX completions_proof_hash ON completions (proof_hash, reserve_seq);

-- The round that is being signed.
CREATE TABLE queue_round (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  round INTEGER NOT NULL
) STRICT;
INSERT INTO queue_round VALUES (1, 0);

-- Maintained by triggers, so that the public verification never counts the tasks that share a hash.
CREATE TABLE proof_hashes (
  proof_hash TEXT NOT NULL PRIMARY KEY,
  occurrences INTEGER NOT NULL CHECK (occurrences >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER proof_hash_added AFTER INSERT ON completions BEGIN
  INSERT INTO proof_hashes VALUES (NEW.proof_hash, 1)
    ON CONFLICT (proof_hash) DO UPDATE SET occurrences = occurrences + 1;
END;
CREATE TRIGGER proof_hash_changed AFTER UPDATE OF proof_hash ON completions
WHEN NEW.proof_hash <> OLD.proof_hash BEGIN
  UPDATE proof_hashes SET occurrences = occurrences - 1 WHERE proof_hash = OLD.proof_hash;
  DELETE FROM proof_hashes WHERE proof_hash = OLD.proof_hash AND occurrences = 0;
  INSERT INTO proof_hashes VALUES (NEW.proof_hash, 1)
    ON CONFLICT (proof_hash) DO UPDATE SET occurrences = occurrences + 1;
END;
CREATE TRIGGER proof_hash_gone AFTER DELETE ON completions BEGIN
  UPDATE proof_hashes SET occurrences = occurrences - 1 WHERE proof_hash = OLD.proof_hash;
  DELETE FROM proof_hashes WHERE proof_hash = OLD.proof_hash AND occurrences = 0;
END;

-- Evidence

-- One key per piece of evidence (rows/evidence.ts). Rows are only ever inserted, and the key of erased evidence is
-- overwritten with the same number of zeros. SQLite therefore never moves a row, and no page keeps a copy of a key.
CREATE TABLE proof_keys (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;

-- Separate from completions, so that hash and receipt remain when evidence is erased.
CREATE TABLE proofs (
  key_id INTEGER PRIMARY KEY REFERENCES proof_keys,
  task_id TEXT NOT NULL UNIQUE REFERENCES tasks,
  sealed BLOB NOT NULL,
  stored_at INTEGER NOT NULL
) STRICT;
CREATE INDEX proofs_age ON proofs (stored_at);
CREATE TRIGGER proof_erased AFTER DELETE ON proofs BEGIN
  UPDATE proof_keys SET key = zeroblob(32) WHERE id = OLD.key_id;
END;

-- Anchoring

-- One nonce, one payload. mined_* is the latest position on the canonical chain and stays through a reorganization.
-- cost_wei is the base of the charges, fixed at the first inclusion. safe has a meaning in the state 'included' only.
CREATE TABLE attempts (
  id TEXT NOT NULL PRIMARY KEY,
  chain_id INTEGER NOT NULL,
  sender TEXT NOT NULL,
  nonce INTEGER NOT NULL CHECK (nonce >= 0),
  state TEXT NOT NULL
    CHECK (state IN ('signed', 'submitted', 'included', 'finalized', 'reorged', 'dead')),
  payload TEXT NOT NULL,
  root TEXT,
  leaf_count INTEGER NOT NULL CHECK (leaf_count >= 1),
  unsettled_leaves INTEGER NOT NULL CHECK (unsettled_leaves BETWEEN 0 AND leaf_count),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  mined_tx_hash TEXT,
  mined_block_number INTEGER,
  mined_block_hash TEXT,
  mined_tx_index INTEGER,
  mined_at INTEGER,
  gas_used TEXT,
  effective_gas_price TEXT,
  data_fee_wei TEXT,
  cost_wei TEXT,
  safe INTEGER NOT NULL DEFAULT 0 CHECK (safe IN (0, 1)),
  UNIQUE (chain_id, sender, nonce),
  CHECK ((root IS NULL) = (leaf_count = 1)),
  CHECK (state NOT IN ('included', 'finalized', 'reorged') OR mined_tx_hash IS NOT NULL),
  CHECK ((mined_tx_hash IS NULL) = (cost_wei IS NULL))
) STRICT;
CREATE INDEX attempts_open ON attempts (chain_id, sender, nonce)
  WHERE state IN ('signed', 'submitted', 'reorged')
    OR (state IN ('included', 'finalized') AND unsettled_leaves > 0);
CREATE INDEX attempts_included ON attempts (chain_id, sender, mined_block_number)
  WHERE state = 'included';

-- Highest cost of the attempts signed in the last hour, while SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR is set.
CREATE TABLE anchor_spend (
  attempt_id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  wei TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The transactions of an attempt, which differ in fees only.
-- adopted: found in a block after a restore; its fees may be lower than those of the variant before.
CREATE TABLE variants (
  tx_hash TEXT NOT NULL PRIMARY KEY,
  attempt_id TEXT NOT NULL REFERENCES attempts,
  seq INTEGER NOT NULL CHECK (seq >= 0),
  raw_tx TEXT NOT NULL,
  max_fee_per_gas TEXT NOT NULL,
  max_priority_fee_per_gas TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  adopted INTEGER NOT NULL DEFAULT 0 CHECK (adopted IN (0, 1)),
  UNIQUE (attempt_id, seq)
) STRICT;

-- One row per final attempt; a reorganization deletes it. header and nodes are the chain proof. While there is none,
-- due_at is the next try, or NULL once the proof is stored. nodes: a JSON array.
CREATE TABLE chain_proofs (
  attempt_id TEXT NOT NULL PRIMARY KEY REFERENCES attempts,
  due_at INTEGER,
  tries INTEGER NOT NULL DEFAULT 0,
  header TEXT,
  nodes TEXT,
  CHECK ((header IS NULL) = (nodes IS NULL)),
  CHECK (header IS NULL OR due_at IS NULL)
) STRICT;
CREATE INDEX chain_proofs_missing ON chain_proofs (due_at) WHERE header IS NULL;

-- live: the attempt is mined or can still be. path: a JSON array of hashes.
CREATE TABLE leaves (
  id INTEGER PRIMARY KEY,
  attempt_id TEXT NOT NULL REFERENCES attempts,
  leaf_index INTEGER NOT NULL CHECK (leaf_index >= 0),
  task_id TEXT NOT NULL,
  leaf TEXT NOT NULL,
  path TEXT NOT NULL,
  generation INTEGER NOT NULL,
  live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
  settled_at INTEGER,
  UNIQUE (attempt_id, leaf_index),
  UNIQUE (task_id, generation)
) STRICT;
CREATE UNIQUE INDEX leaves_live ON leaves (task_id) WHERE live = 1;

-- Where a verified task is anchored. The attempt has the state of the transaction.
-- seq is the order in which tasks were verified.
CREATE TABLE receipts (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL UNIQUE REFERENCES tasks,
  proof_hash TEXT NOT NULL,
  attempt_id TEXT NOT NULL REFERENCES attempts,
  leaf_index INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_proof_hash ON receipts (proof_hash, seq);

-- degraded: a JSON array of the sender's reasons. Each sender has its own, so that several do not overwrite each other.
CREATE TABLE leases (
  chain_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  holder TEXT,
  fence INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  degraded TEXT NOT NULL DEFAULT '[]',
  parked INTEGER NOT NULL DEFAULT 0 CHECK (parked >= 0),
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

-- The accounts that anchor or anchored. changed_in: the sequence number of the list that last changed the row. signature:
-- the account's signature of its entry, for the origin; null if the key was not available.
CREATE TABLE anchoring_accounts (
  chain_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  first_block INTEGER NOT NULL,
  last_block INTEGER,
  changed_in INTEGER NOT NULL UNIQUE,
  origin TEXT,
  signature TEXT,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE chain_identity (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  chain_id INTEGER NOT NULL,
  genesis_hash TEXT NOT NULL
) STRICT;

-- degraded: a JSON array of reasons that concern the database. The four parts of the quote are set together or not.
CREATE TABLE chain_status (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  single_gas TEXT,
  base_fee_per_gas TEXT,
  max_priority_fee_per_gas TEXT,
  data_fee_wei TEXT,
  degraded TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- Telemetry

CREATE TABLE telemetry (
  robot_id TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  id TEXT NOT NULL,
  battery_pct REAL,
  state TEXT,
  metrics TEXT NOT NULL,
  PRIMARY KEY (robot_id, recorded_at, id)
) STRICT, WITHOUT ROWID;

-- summary: see rows/aggregate.ts. Minutes are deleted with their samples; hours and days stay.
CREATE TABLE telemetry_rollups (
  robot_id TEXT NOT NULL,
  resolution TEXT NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
  at INTEGER NOT NULL,
  samples INTEGER NOT NULL CHECK (samples > 0),
  summary BLOB NOT NULL,
  PRIMARY KEY (robot_id, resolution, at)
) STRICT, WITHOUT ROWID;

-- names: JSON { states, metrics }, the names that the summaries of the day refer to by number.
CREATE TABLE telemetry_names (
  robot_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  names TEXT NOT NULL,
  PRIMARY KEY (robot_id, day)
) STRICT, WITHOUT ROWID;

-- Retention deleted some of the samples recorded before this time.
CREATE TABLE telemetry_horizons (
  robot_id TEXT NOT NULL PRIMARY KEY,
  before INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events

-- One index for each combination of filters. Each ends with seq (the rowid), so a robot's page is read in order.
-- Lists are read by robot, so the events of a deleted robot disappear at once.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  robot_id TEXT NOT NULL,
  id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warn', 'error')),
  message TEXT NOT NULL,
  payload TEXT NOT NULL,
  occurred_at TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (robot_id, id)
) STRICT;
CREATE INDEX events_robot ON events (robot_id);
CREATE INDEX events_robot_severity ON events (robot_id, severity);
CREATE INDEX events_robot_type ON events (robot_id, event_type);
CREATE INDEX events_robot_type_severity ON events (robot_id, event_type, severity);

-- Stats

-- Both tables are updated with the writes they count, so that no statistic scans history.
-- scope: the wallet of an account or the id of a fleet.
CREATE TABLE activity_hours (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  samples INTEGER NOT NULL DEFAULT 0,
  info INTEGER NOT NULL DEFAULT 0,
  warn INTEGER NOT NULL DEFAULT 0,
  error INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE anchor_days (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  anchors INTEGER NOT NULL CHECK (anchors > 0),
  gas_wei TEXT NOT NULL,
  PRIMARY KEY (scope, at)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER fleet_gone AFTER DELETE ON fleets BEGIN
  DELETE FROM activity_hours WHERE scope = OLD.id;
  DELETE FROM anchor_days WHERE scope = OLD.id;
END;

-- Webhooks and alerts

-- events: a JSON array of types. secret and old_secret are sealed (core/webhooks/webhooks.ts); old_secret is used until old_until.
-- failures counts failed attempts since the last success. next_at is the time of the next attempt, never if disabled.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL REFERENCES accounts,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret BLOB NOT NULL,
  old_secret BLOB,
  old_until INTEGER,
  created_at INTEGER NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  next_at INTEGER NOT NULL DEFAULT 0,
  disabled_at INTEGER,
  disabled_for TEXT CHECK (disabled_for IN ('owner', 'failures', 'backlog')),
  CHECK ((disabled_at IS NULL) = (disabled_for IS NULL))
) STRICT;
CREATE INDEX webhooks_failed ON webhooks (wallet) WHERE disabled_for IN ('failures', 'backlog');
CREATE INDEX webhooks_wallet ON webhooks (wallet, id);

-- The outbox, and the log of deliveries: one row per message and webhook. The relay numbers committed rows.
CREATE TABLE webhook_deliveries (
  id TEXT NOT NULL PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'abandoned')),
  created_at INTEGER NOT NULL,
  number INTEGER UNIQUE,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_status INTEGER,
  last_error TEXT,
  attempted_at INTEGER
) STRICT;
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, number)
  WHERE state = 'pending';
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (created_at, id) WHERE number IS NULL;
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

CREATE TABLE alert_rules (
  wallet TEXT NOT NULL REFERENCES accounts,
  kind TEXT NOT NULL,
  threshold INTEGER NOT NULL,
  PRIMARY KEY (wallet, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_rules_kind ON alert_rules (kind, wallet);

-- The unique index allows one open alert per rule and robot, whichever instance opens it.
CREATE TABLE alerts (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL,
  kind TEXT NOT NULL,
  threshold INTEGER NOT NULL,
  robot_id TEXT,
  opened_at INTEGER NOT NULL,
  acknowledged_at INTEGER,
  closed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (kind, wallet, coalesce(robot_id, ''))
  WHERE closed_at IS NULL;
CREATE INDEX alerts_wallet ON alerts (wallet, id);
CREATE INDEX alerts_wallet_open ON alerts (wallet, id) WHERE closed_at IS NULL;
CREATE INDEX alerts_closed ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- The newest evaluation of all rules, and since when there was no gap between two.
CREATE TABLE alert_watch (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  evaluated_at INTEGER NOT NULL,
  since INTEGER NOT NULL
) STRICT;

-- Storage

-- Bytes that the account stores, for its quota (store/storage-usage.ts). Less than 0 until a count in memory is saved.
CREATE TABLE storage_usage (
  wallet TEXT NOT NULL PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Operations

-- Holds a row after a restore. Only the senders reconciled since then may anchor.
CREATE TABLE restoration (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  restored_at INTEGER NOT NULL
) STRICT;
CREATE TABLE reconciled_senders (
  chain_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  reconciled_at INTEGER NOT NULL,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

-- Nonces used by transactions that this database does not know. `svc-server reconcile` records them, and the next
-- nonce skips them.
CREATE TABLE foreign_nonces (
  chain_id INTEGER NOT NULL,
  sender TEXT NOT NULL,
  nonce INTEGER NOT NULL CHECK (nonce >= 0),
  tx_hash TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (chain_id, sender, nonce)
) STRICT, WITHOUT ROWID;

-- Readiness writes here to find out whether writes become durable.
CREATE TABLE write_probe (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  filling BLOB NOT NULL
) STRICT;
