/**
 * Ids, wallets and hashes are the wire's text; amounts in wei are decimal text, summed as bigint outside
 * SQL; instants are milliseconds since the epoch; JSON is canonical text. `attempts`, `leaves` and
 * `ledger` hold the ids of tasks and wallets by value, so that what reached the chain and what was paid
 * outlive the task.
 */
export const spine = `
CREATE TABLE accounts (
  wallet TEXT NOT NULL PRIMARY KEY,
  anchor_quota INTEGER NOT NULL CHECK (anchor_quota BETWEEN 0 AND 9007199254740991),
  gas_credit_wei TEXT NOT NULL CHECK (gas_credit_wei <> '' AND gas_credit_wei NOT GLOB '*[^0-9]*'),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  wallet TEXT NOT NULL REFERENCES accounts,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE challenges (
  seq INTEGER PRIMARY KEY,
  nonce TEXT NOT NULL UNIQUE,
  wallet TEXT NOT NULL,
  message TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX challenges_wallet ON challenges (wallet, seq);
CREATE INDEX challenges_expiry ON challenges (expires_at);

-- Kept by the triggers, so that bounding the table never counts it.
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
  CHECK ((key_hash IS NULL) = (key_hint IS NULL))
) STRICT;
CREATE INDEX robots_wallet ON robots (wallet, id);

CREATE TABLE tasks (
  id TEXT NOT NULL PRIMARY KEY,
  robot_id TEXT NOT NULL REFERENCES robots,
  wallet TEXT NOT NULL REFERENCES accounts,
  title TEXT NOT NULL,
  description TEXT,
  expected_result TEXT,
  occurred_at TEXT,
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'claimed' CHECK (status IN ('claimed', 'verified'))
) STRICT;
CREATE INDEX tasks_robot ON tasks (robot_id, id);

CREATE TABLE tombstones (
  task_id TEXT NOT NULL PRIMARY KEY,
  deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A cycle is one reservation; a generation is one place in the queue under it.
-- reserve_seq is the ledger entry of the reservation and orders the queue.
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
  queued_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  failure TEXT,
  CHECK ((state = 'failed') = (failure IS NOT NULL))
) STRICT;
CREATE INDEX completions_queue ON completions (reserve_seq) WHERE state = 'queued';
CREATE INDEX completions_proof_hash ON completions (proof_hash, reserve_seq);

-- Kept by the triggers, so that a public answer never counts the tasks that share a hash.
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

-- Apart from its completion, so that evidence can be erased and hash and receipt stay.
CREATE TABLE proofs (
  task_id TEXT NOT NULL PRIMARY KEY REFERENCES tasks,
  proof TEXT NOT NULL
) STRICT;

-- One nonce, one payload. mined_* is the newest place on the canonical chain and stays through a
-- reorganisation; cost_wei is what the charges rest on, fixed at the first inclusion.
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
  UNIQUE (chain_id, sender, nonce),
  CHECK ((root IS NULL) = (leaf_count = 1)),
  CHECK (state NOT IN ('included', 'finalized', 'reorged') OR mined_tx_hash IS NOT NULL),
  CHECK ((mined_tx_hash IS NULL) = (cost_wei IS NULL))
) STRICT;
CREATE INDEX attempts_open ON attempts (chain_id, sender, nonce)
  WHERE state IN ('signed', 'submitted', 'reorged')
    OR (state IN ('included', 'finalized') AND unsettled_leaves > 0);

-- Versions of one attempt that differ in fees alone.
CREATE TABLE variants (
  tx_hash TEXT NOT NULL PRIMARY KEY,
  attempt_id TEXT NOT NULL REFERENCES attempts,
  seq INTEGER NOT NULL CHECK (seq >= 0),
  raw_tx TEXT NOT NULL,
  max_fee_per_gas TEXT NOT NULL,
  max_priority_fee_per_gas TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (attempt_id, seq)
) STRICT;

-- live: the attempt may still be mined, or was. path is a JSON array of hashes.
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

-- Where a verified task is anchored; what the chain says of it is read from the attempt.
-- seq is the order in which tasks were verified.
CREATE TABLE receipts (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL UNIQUE REFERENCES tasks,
  proof_hash TEXT NOT NULL,
  attempt_id TEXT NOT NULL REFERENCES attempts,
  leaf_index INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_proof_hash ON receipts (proof_hash, seq);

-- Signed changes of a balance; the sum of an account's entries is its balance.
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
CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN
  SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE TABLE leases (
  chain_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  holder TEXT,
  fence INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE chain_identity (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  chain_id INTEGER NOT NULL,
  genesis_hash TEXT NOT NULL
) STRICT;

-- degraded is a JSON array of sentences; the quote is whole or absent.
CREATE TABLE chain_status (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  single_gas TEXT,
  base_fee_per_gas TEXT,
  max_priority_fee_per_gas TEXT,
  data_fee_wei TEXT,
  degraded TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE rate_counters (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  window_start INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- Written to learn whether writes become durable.
CREATE TABLE write_probe (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  filling BLOB NOT NULL
) STRICT;
`;
