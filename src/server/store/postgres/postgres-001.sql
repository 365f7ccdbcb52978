-- The PostgreSQL schema of version 1. Never edit it once it is released: add a migration.
--
-- Conventions: ids are UUIDs. Wallets and hashes are stored as the text of the API and sorted by bytes. Amounts in wei
-- are whole numbers of any size. Times are milliseconds since the epoch. JSON is canonical text.
--
-- ledger and leaves hold wallets and task ids without a foreign key. What was paid and what reached the chain outlives
-- the task.

-- The database's clock, unless a test passes a time.
CREATE FUNCTION instant_or(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)';

CREATE TABLE accounts (
  wallet text COLLATE "C" PRIMARY KEY,
  anchor_quota bigint NOT NULL CHECK (anchor_quota BETWEEN 0 AND 9007199254740991),
  gas_credit_wei numeric NOT NULL CHECK (gas_credit_wei >= 0 AND scale(gas_credit_wei) = 0),
  created_at bigint NOT NULL,
  -- First sign-in that qualified for the sign-up grant.
  qualified_at bigint,
  -- Round of the newest completion.
  last_round bigint NOT NULL DEFAULT -1,
  -- The operator suspended the account; NULL if it is active.
  suspended_at bigint,
  -- Its deletion began; NULL once it has ended.
  deleting_at bigint
);
CREATE INDEX accounts_deleting ON accounts (wallet) WHERE deleting_at IS NOT NULL;

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  wallet text COLLATE "C" NOT NULL REFERENCES accounts,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  signed_in_with text NOT NULL CHECK (signed_in_with IN ('wallet', 'cli_code', 'token')),
  wrong_codes integer NOT NULL DEFAULT 0,
  -- Of account tokens.
  name text,
  scope text CHECK (scope IN ('read', 'write')),
  last_used_at bigint,
  CHECK ((signed_in_with = 'token') = (name IS NOT NULL AND scope IS NOT NULL))
);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_wallet ON sessions (wallet, id);

-- Who did what to an account (protocol/audit-log.ts). Retention deletes the oldest entries.
CREATE TABLE audit_log (
  id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  actor text NOT NULL CHECK (actor IN ('session', 'token', 'operator', 'unknown')),
  actor_name text,
  source text,
  target_id uuid,
  detail text,
  count bigint NOT NULL CHECK (count = 1 OR kind = 'sign_in_failed'),
  at bigint NOT NULL
);
CREATE INDEX audit_log_wallet ON audit_log (wallet, id);
CREATE UNIQUE INDEX audit_log_failures ON audit_log (wallet, at) WHERE kind = 'sign_in_failed';
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the % is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log
  FOR EACH ROW WHEN (OLD.kind <> 'sign_in_failed' OR NEW.count <= OLD.count)
  EXECUTE FUNCTION refuse_change();

-- Authenticates challenges and devices (core/sign-in-messages.ts). A restore replaces it, because the restored
-- database has forgotten which challenges were spent. Two UUIDs hold 244 random bits.
CREATE TABLE challenge_key (
  id integer PRIMARY KEY CHECK (id = 1),
  key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO challenge_key VALUES (1, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- Challenges for callers that send back neither cookie nor message. source: the address prefix that asked.
CREATE TABLE challenges (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  nonce text COLLATE "C" NOT NULL UNIQUE,
  wallet text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  message text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX challenges_wallet ON challenges (wallet, source, seq);
CREATE INDEX challenges_source ON challenges (source, seq);
CREATE INDEX challenges_expiry ON challenges (expires_at);

CREATE TABLE spent_challenges (
  nonce text COLLATE "C" PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX spent_challenges_expiry ON spent_challenges (expires_at);

-- Codes that sign the command line in (RFC 8628). session_id: the session that allowed it.
CREATE TABLE cli_codes (
  device_hash text COLLATE "C" PRIMARY KEY,
  user_hash text COLLATE "C" NOT NULL UNIQUE,
  source text COLLATE "C" NOT NULL,
  name text NOT NULL,
  session_id uuid,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX cli_codes_expiry ON cli_codes (expires_at);
CREATE INDEX cli_codes_source ON cli_codes (source, expires_at);

-- Seals the cursors of lists (core/paging.ts). Two UUIDs hold 244 random bits.
CREATE TABLE cursor_key (
  id integer PRIMARY KEY CHECK (id = 1),
  key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO cursor_key VALUES (1, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- A crash of the database resets the current windows. engine/rate-counters.ts deletes past windows.
CREATE UNLOGGED TABLE rate_counters (
  window_start bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  used integer NOT NULL,
  PRIMARY KEY (window_start, scope, key)
) WITH (fillfactor = 50);

CREATE TABLE fleets (
  id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  description text,
  location text,
  shift text,
  tags text NOT NULL,
  sort_order bigint NOT NULL CHECK (sort_order BETWEEN 0 AND 9007199254740991),
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX fleets_wallet ON fleets (wallet, sort_order, id);

-- battery_at and state_at are the times of battery_pct and state, never later than their arrival. state_since is when
-- samples began to have this state, battery_since when the battery came to this side of limits.lowBatteryPct.
CREATE TABLE robots (
  id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL,
  description text,
  fleet_id uuid,
  key_hash text COLLATE "C" UNIQUE,
  key_hint text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_seen_at bigint,
  battery_pct double precision,
  battery_at bigint,
  battery_since bigint,
  state text,
  state_at bigint,
  state_since bigint,
  CHECK ((key_hash IS NULL) = (key_hint IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX robots_wallet ON robots (wallet, id);
CREATE INDEX robots_fleet ON robots (fleet_id) WHERE fleet_id IS NOT NULL;

-- wallet: that of the robot, which never changes. A foreign key would lock the account row at each claim.
CREATE TABLE tasks (
  id uuid PRIMARY KEY,
  robot_id uuid NOT NULL REFERENCES robots,
  wallet text COLLATE "C" NOT NULL,
  title text NOT NULL,
  description text,
  expected_result text,
  occurred_at text,
  created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL DEFAULT 'claimed' CHECK (status IN ('claimed', 'verified')),
  -- First completion that was refused for lack of credit.
  credit_refused_at bigint
);
CREATE INDEX tasks_robot ON tasks (robot_id, status, created_at, id);
CREATE INDEX tasks_wallet ON tasks (wallet, status, created_at, id);
CREATE INDEX tasks_refused ON tasks (wallet, credit_refused_at)
  WHERE status = 'claimed' AND credit_refused_at IS NOT NULL;

CREATE TABLE robot_tombstones (
  robot_id uuid PRIMARY KEY,
  deleted_at bigint NOT NULL
);

CREATE TABLE tombstones (
  task_id uuid PRIMARY KEY,
  deleted_at bigint NOT NULL
);

CREATE TABLE task_counts (
  robot_id uuid PRIMARY KEY,
  claimed bigint NOT NULL CHECK (claimed >= 0),
  verified bigint NOT NULL CHECK (verified >= 0)
) WITH (fillfactor = 80);

-- A cycle is one reservation of credit. A generation is one place in the queue within a cycle.
-- reserve_seq is the ledger entry of the reservation. The queue is ordered by round, then by reserve_seq: an account has
-- one completion in each round, so that many of one account delay another account by one per round.
-- offered_to, offered_until: a hint which sender signs this completion now, so that others take different ones.
CREATE TABLE completions (
  task_id uuid PRIMARY KEY REFERENCES tasks,
  state text COLLATE "C" NOT NULL
    CHECK (state IN ('queued', 'submitted', 'included', 'finalized', 'reorged', 'failed')),
  proof_hash text COLLATE "C" NOT NULL,
  claim_hash text COLLATE "C" NOT NULL,
  leaf text COLLATE "C" NOT NULL,
  cycle integer NOT NULL CHECK (cycle >= 1),
  generation integer NOT NULL CHECK (generation >= 0),
  reserve_seq bigint NOT NULL UNIQUE,
  round bigint NOT NULL,
  queued_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  failure text,
  offered_to text COLLATE "C",
  offered_until bigint NOT NULL DEFAULT 0,
  CHECK ((state = 'failed') = (failure IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX completions_queue ON completions (round, reserve_seq) WHERE state = 'queued';
CREATE INDEX completions_waiting ON completions (queued_at) WHERE state IN ('queued', 'submitted');
CREATE INDEX completions_failed ON completions (updated_at) WHERE state = 'failed';
CREATE INDEX completions_proof_hash ON completions (proof_hash, reserve_seq);

-- The round that is being signed.
CREATE TABLE queue_round (
  id integer PRIMARY KEY CHECK (id = 1),
  round bigint NOT NULL
);
INSERT INTO queue_round VALUES (1, 0);

-- Maintained by triggers, so that the public verification never counts the tasks that share a hash.
CREATE TABLE proof_hashes (
  proof_hash text COLLATE "C" PRIMARY KEY,
  occurrences bigint NOT NULL CHECK (occurrences >= 0)
);
CREATE FUNCTION count_proof_hash() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    UPDATE proof_hashes SET occurrences = occurrences - 1 WHERE proof_hash = OLD.proof_hash;
    DELETE FROM proof_hashes WHERE proof_hash = OLD.proof_hash AND occurrences = 0;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO proof_hashes AS p VALUES (NEW.proof_hash, 1)
      ON CONFLICT (proof_hash) DO UPDATE SET occurrences = p.occurrences + 1;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER proof_hash_counted AFTER INSERT OR DELETE ON completions
  FOR EACH ROW EXECUTE FUNCTION count_proof_hash();
CREATE TRIGGER proof_hash_changed AFTER UPDATE OF proof_hash ON completions
  FOR EACH ROW WHEN (NEW.proof_hash <> OLD.proof_hash) EXECUTE FUNCTION count_proof_hash();

-- Separate from completions, so that hash and receipt remain when evidence is erased. Sealed by rows/evidence.ts.
-- Autovacuum starts ten times earlier than by default, because only a vacuum overwrites erased rows.
CREATE TABLE proofs (
  task_id uuid PRIMARY KEY REFERENCES tasks,
  key bytea NOT NULL CHECK (length(key) = 32),
  sealed bytea NOT NULL,
  stored_at bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX proofs_age ON proofs (stored_at);

-- One nonce, one payload. mined_* is the latest position on the canonical chain and stays through a reorganization.
-- cost_wei is the base of the charges, fixed at the first inclusion. safe has a meaning in the state 'included' only.
CREATE TABLE attempts (
  id uuid PRIMARY KEY,
  chain_id bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  nonce bigint NOT NULL CHECK (nonce >= 0),
  state text COLLATE "C" NOT NULL
    CHECK (state IN ('signed', 'submitted', 'included', 'finalized', 'reorged', 'dead')),
  payload text NOT NULL,
  root text,
  leaf_count integer NOT NULL CHECK (leaf_count >= 1),
  unsettled_leaves integer NOT NULL CHECK (unsettled_leaves BETWEEN 0 AND leaf_count),
  safe boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  mined_tx_hash text COLLATE "C",
  mined_block_number bigint,
  mined_block_hash text,
  mined_tx_index integer,
  mined_at bigint,
  gas_used numeric,
  effective_gas_price numeric,
  data_fee_wei numeric,
  cost_wei numeric,
  UNIQUE (chain_id, sender, nonce),
  CHECK ((root IS NULL) = (leaf_count = 1)),
  CHECK (state NOT IN ('included', 'finalized', 'reorged') OR mined_tx_hash IS NOT NULL),
  CHECK ((mined_tx_hash IS NULL) = (cost_wei IS NULL))
) WITH (fillfactor = 80);
-- Highest cost of the attempts signed in the last hour, while SVC_ANCHOR_MAX_SPEND_WEI_PER_HOUR is set.
CREATE TABLE anchor_spend (
  attempt_id uuid PRIMARY KEY,
  at bigint NOT NULL,
  wei text NOT NULL
);
CREATE INDEX attempts_open ON attempts (chain_id, sender, nonce)
  WHERE state IN ('signed', 'submitted', 'reorged')
    OR (state IN ('included', 'finalized') AND unsettled_leaves > 0);
CREATE INDEX attempts_included ON attempts (chain_id, sender, mined_block_number, id)
  WHERE state = 'included';

-- The transactions of an attempt, which differ in fees only.
-- adopted: found in a block after a restore; its fees may be lower than those of the variant before.
CREATE TABLE variants (
  tx_hash text COLLATE "C" PRIMARY KEY,
  attempt_id uuid NOT NULL REFERENCES attempts,
  seq integer NOT NULL CHECK (seq >= 0),
  raw_tx text NOT NULL,
  max_fee_per_gas numeric NOT NULL,
  max_priority_fee_per_gas numeric NOT NULL,
  created_at bigint NOT NULL,
  adopted boolean NOT NULL DEFAULT false,
  UNIQUE (attempt_id, seq)
);

-- One row per final attempt; a reorganization deletes it. header and nodes are the chain proof. While there is none,
-- due_at is the next try, or NULL once the proof is stored. nodes: a JSON array.
CREATE TABLE chain_proofs (
  attempt_id uuid PRIMARY KEY REFERENCES attempts,
  due_at bigint,
  tries integer NOT NULL DEFAULT 0,
  header text,
  nodes text,
  CHECK ((header IS NULL) = (nodes IS NULL)),
  CHECK (header IS NULL OR due_at IS NULL)
);
CREATE INDEX chain_proofs_missing ON chain_proofs (due_at) WHERE header IS NULL;

-- live: the attempt is mined or can still be. path: a JSON array of hashes, set at the settlement.
CREATE TABLE leaves (
  attempt_id uuid NOT NULL REFERENCES attempts,
  leaf_index integer NOT NULL CHECK (leaf_index >= 0),
  task_id uuid NOT NULL,
  leaf text COLLATE "C" NOT NULL,
  path text NOT NULL,
  generation integer NOT NULL,
  live boolean NOT NULL DEFAULT true,
  settled_at bigint,
  PRIMARY KEY (attempt_id, leaf_index),
  UNIQUE (task_id, generation)
);
CREATE UNIQUE INDEX leaves_live ON leaves (task_id) WHERE live;

-- Where a verified task is anchored. The attempt has the state of the transaction.
-- seq is the order in which tasks were verified.
CREATE TABLE receipts (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  task_id uuid NOT NULL UNIQUE REFERENCES tasks,
  proof_hash text COLLATE "C" NOT NULL,
  attempt_id uuid NOT NULL REFERENCES attempts,
  leaf_index integer NOT NULL
);
CREATE INDEX receipts_proof_hash ON receipts (proof_hash, seq);

-- Signed changes of a balance. The sum of an account's entries is its balance.
CREATE TABLE ledger (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('grant', 'reserve', 'settle', 'release')),
  anchors bigint NOT NULL,
  gas_wei numeric NOT NULL CHECK (scale(gas_wei) = 0),
  task_id uuid,
  cycle integer,
  grant_id text COLLATE "C",
  note text,
  at bigint NOT NULL,
  CHECK ((kind = 'grant') = (grant_id IS NOT NULL)),
  CHECK ((kind = 'grant') = (task_id IS NULL)),
  CHECK ((task_id IS NULL) = (cycle IS NULL)),
  CHECK (anchors = 0 OR kind <> 'settle'),
  CHECK (anchors = -1 OR kind <> 'reserve'),
  CHECK (anchors = 1 OR kind <> 'release'),
  CHECK (CASE WHEN kind = 'reserve' THEN gas_wei <= 0 ELSE gas_wei >= 0 END)
);
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
CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE ON ledger
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- degraded: a JSON array of the sender's reasons, valid while the lease is held.
CREATE TABLE leases (
  chain_id bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  holder text,
  fence bigint NOT NULL,
  expires_at bigint NOT NULL,
  degraded text NOT NULL DEFAULT '[]',
  parked integer NOT NULL DEFAULT 0 CHECK (parked >= 0),
  PRIMARY KEY (chain_id, address)
) WITH (fillfactor = 50);

-- The accounts that anchor or anchored. changed_in: the sequence number of the list that last changed the row. signature:
-- the account's signature of its entry, for the origin; null if the key was not available.
CREATE TABLE anchoring_accounts (
  chain_id bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  first_block bigint NOT NULL,
  last_block bigint,
  changed_in bigint NOT NULL UNIQUE,
  origin text,
  signature text,
  PRIMARY KEY (chain_id, address)
);

CREATE TABLE chain_identity (
  id integer PRIMARY KEY CHECK (id = 1),
  chain_id bigint NOT NULL,
  genesis_hash text NOT NULL
);

-- degraded: a JSON array of reasons that concern the database. The four parts of the quote are set together or not.
CREATE TABLE chain_status (
  id integer PRIMARY KEY CHECK (id = 1),
  single_gas numeric,
  base_fee_per_gas numeric,
  max_priority_fee_per_gas numeric,
  data_fee_wei numeric,
  degraded text NOT NULL,
  updated_at bigint NOT NULL
) WITH (fillfactor = 50);

-- Holds a row after a restore. Only the senders reconciled since then may anchor.
CREATE TABLE restoration (
  id integer PRIMARY KEY CHECK (id = 1),
  restored_at bigint NOT NULL
);
CREATE TABLE reconciled_senders (
  chain_id bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  reconciled_at bigint NOT NULL,
  PRIMARY KEY (chain_id, address)
);

-- Nonces used by transactions that this database does not know. The next nonce skips them.
CREATE TABLE foreign_nonces (
  chain_id bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  nonce bigint NOT NULL CHECK (nonce >= 0),
  tx_hash text NOT NULL,
  recorded_at bigint NOT NULL,
  PRIMARY KEY (chain_id, sender, nonce)
);

-- The tables from here on have no foreign key to robots: retention deletes the rows of a deleted robot later, in small
-- steps. recorded_at is the robot's clock. Partitions follow the server's clock (engine/partitions.ts), and samples
-- outside of them are in the default partition.
CREATE TABLE telemetry (
  robot_id uuid NOT NULL,
  recorded_at bigint NOT NULL,
  id uuid NOT NULL,
  battery_pct double precision,
  state text,
  metrics text NOT NULL,
  PRIMARY KEY (robot_id, recorded_at, id)
) PARTITION BY RANGE (recorded_at);
CREATE TABLE telemetry_rest PARTITION OF telemetry DEFAULT;

-- summary: see rows/aggregate.ts. Minutes are deleted with their samples; hours and days stay.
CREATE TABLE telemetry_rollups (
  robot_id uuid NOT NULL,
  resolution text COLLATE "C" NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
  at bigint NOT NULL,
  samples bigint NOT NULL CHECK (samples > 0),
  summary bytea NOT NULL,
  PRIMARY KEY (robot_id, resolution, at)
) WITH (fillfactor = 80);

-- names: JSON { states, metrics }, the names that the summaries of the day refer to by number.
CREATE TABLE telemetry_names (
  robot_id uuid NOT NULL,
  day bigint NOT NULL,
  names text NOT NULL,
  PRIMARY KEY (robot_id, day)
) WITH (fillfactor = 80);

-- Retention deleted some of the samples recorded before this time.
CREATE TABLE telemetry_horizons (
  robot_id uuid PRIMARY KEY,
  before bigint NOT NULL
);

-- One index for each combination of filters. Each ends with seq, so a robot's page is read in order.
CREATE TABLE events (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  robot_id uuid NOT NULL,
  id uuid NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  severity text COLLATE "C" NOT NULL CHECK (severity IN ('info', 'warn', 'error')),
  message text NOT NULL,
  payload text NOT NULL,
  occurred_at text,
  created_at bigint NOT NULL,
  UNIQUE (robot_id, id)
);
CREATE INDEX events_robot ON events (robot_id, seq);
CREATE INDEX events_robot_severity ON events (robot_id, severity, seq);
CREATE INDEX events_robot_type ON events (robot_id, event_type, seq);
CREATE INDEX events_robot_type_severity ON events (robot_id, event_type, severity, seq);

-- Webhooks and alerts

-- events: a JSON array of types. secret and old_secret are sealed (core/webhooks/webhooks.ts); old_secret is used until old_until.
-- failures counts failed attempts since the last success. next_at is the time of the next attempt, never if disabled.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL REFERENCES accounts,
  url text NOT NULL,
  events text NOT NULL,
  secret bytea NOT NULL,
  old_secret bytea,
  old_until bigint,
  created_at bigint NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  failing_since bigint,
  next_at bigint NOT NULL DEFAULT 0,
  disabled_at bigint,
  disabled_for text CHECK (disabled_for IN ('owner', 'failures', 'backlog')),
  CHECK ((disabled_at IS NULL) = (disabled_for IS NULL))
);
CREATE INDEX webhooks_failed ON webhooks (wallet) WHERE disabled_for IN ('failures', 'backlog');
CREATE INDEX webhooks_wallet ON webhooks (wallet, id);

-- The outbox, and the log of deliveries: one row per message and webhook. The relay numbers committed rows.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL,
  type text NOT NULL,
  data text NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'abandoned')),
  created_at bigint NOT NULL,
  number bigint UNIQUE,
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  last_error text,
  attempted_at bigint
);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, number)
  WHERE state = 'pending';
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (created_at, id) WHERE number IS NULL;
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

CREATE TABLE alert_rules (
  wallet text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text COLLATE "C" NOT NULL,
  threshold bigint NOT NULL,
  PRIMARY KEY (wallet, kind)
);
CREATE INDEX alert_rules_kind ON alert_rules (kind, wallet);

-- The unique index allows one open alert per rule and robot, whichever instance opens it.
CREATE TABLE alerts (
  id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  threshold bigint NOT NULL,
  robot_id uuid,
  opened_at bigint NOT NULL,
  acknowledged_at bigint,
  closed_at bigint
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind, wallet, coalesce(robot_id, '00000000-0000-0000-0000-000000000000'))
  WHERE closed_at IS NULL;
CREATE INDEX alerts_wallet ON alerts (wallet, id);
CREATE INDEX alerts_wallet_open ON alerts (wallet, id) WHERE closed_at IS NULL;
CREATE INDEX alerts_closed ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- The newest evaluation of all rules, and since when there was no gap between two.
CREATE TABLE alert_watch (
  id integer PRIMARY KEY CHECK (id = 1),
  evaluated_at bigint NOT NULL,
  since bigint NOT NULL
);

-- The lease of the instance that delivers webhooks and evaluates alerts.
CREATE TABLE relay_lease (
  id integer PRIMARY KEY CHECK (id = 1),
  holder text NOT NULL,
  expires_at bigint NOT NULL
);

-- Both tables are updated with the writes they count, so that no statistic scans history.
-- scope: the wallet of an account or the id of a fleet.
CREATE TABLE activity_hours (
  scope text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  samples bigint NOT NULL DEFAULT 0,
  info bigint NOT NULL DEFAULT 0,
  warn bigint NOT NULL DEFAULT 0,
  error bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, at)
) WITH (fillfactor = 80);

CREATE TABLE anchor_days (
  scope text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  anchors bigint NOT NULL CHECK (anchors > 0),
  gas_wei numeric NOT NULL,
  PRIMARY KEY (scope, at)
) WITH (fillfactor = 80);

-- Deleted robots whose samples, roll-ups or events retention may still have to delete.
CREATE TABLE robot_traces (
  robot_id uuid PRIMARY KEY,
  wallet text COLLATE "C" NOT NULL
);

-- Bytes that the account stores, for its quota (store/storage-usage.ts). Less than 0 until a count in memory is saved.
CREATE TABLE storage_usage (
  wallet text COLLATE "C" PRIMARY KEY,
  bytes bigint NOT NULL
) WITH (fillfactor = 80);

CREATE FUNCTION count_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO task_counts AS t
    VALUES (coalesce(NEW.robot_id, OLD.robot_id), 0, 0) ON CONFLICT DO NOTHING;
  UPDATE task_counts SET
    claimed = claimed + coalesce((NEW.status = 'claimed')::int, 0) - coalesce((OLD.status = 'claimed')::int, 0),
    verified = verified + coalesce((NEW.status = 'verified')::int, 0) - coalesce((OLD.status = 'verified')::int, 0)
  WHERE robot_id = coalesce(NEW.robot_id, OLD.robot_id);
  RETURN NULL;
END $$;
-- An insert that waited for the deletion of its id did not see the tombstone. The retry does.
CREATE FUNCTION refuse_buried_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM tombstones WHERE task_id = NEW.id) THEN
    RAISE EXCEPTION 'the id of a deleted task stays taken' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER task_not_buried AFTER INSERT ON tasks
  FOR EACH ROW EXECUTE FUNCTION refuse_buried_task();

CREATE TRIGGER task_counted AFTER INSERT OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION count_task();
CREATE TRIGGER task_recounted AFTER UPDATE OF status ON tasks
  FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION count_task();

CREATE FUNCTION trace_robot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO robot_traces VALUES (OLD.id, OLD.wallet) ON CONFLICT DO NOTHING;
  DELETE FROM task_counts WHERE robot_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER robot_gone AFTER DELETE ON robots FOR EACH ROW EXECUTE FUNCTION trace_robot();

CREATE FUNCTION forget_fleet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM activity_hours WHERE scope = OLD.id::text;
  DELETE FROM anchor_days WHERE scope = OLD.id::text;
  RETURN NULL;
END $$;
CREATE TRIGGER fleet_gone AFTER DELETE ON fleets FOR EACH ROW EXECUTE FUNCTION forget_fleet();
