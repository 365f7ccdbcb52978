-- Roll-ups in a form that SQL can sum: samples by state are
-- `SELECT key, sum(value) FROM telemetry_rollups, json_each(states) GROUP BY key`.
-- states: JSON { state: samples }. metrics: JSON { name: [count, min, max, sum] }; battery: one such array, or NULL. Minutes
-- are deleted with their samples; hours and days stay.
ALTER TABLE telemetry_rollups RENAME TO telemetry_rollups_002;
CREATE TABLE telemetry_rollups (
  robot_id TEXT NOT NULL,
  resolution TEXT NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
  at INTEGER NOT NULL,
  samples INTEGER NOT NULL CHECK (samples > 0),
  battery TEXT,
  states TEXT NOT NULL,
  metrics TEXT NOT NULL,
  PRIMARY KEY (robot_id, resolution, at)
) STRICT, WITHOUT ROWID;
INSERT INTO telemetry_rollups SELECT o.robot_id, resolution, at, samples, decoded('battery', summary, names),
    decoded('states', summary, names), decoded('metrics', summary, names)
  FROM telemetry_rollups_002 o LEFT JOIN telemetry_names n
    ON n.robot_id = o.robot_id AND n.day = at - (at % 86400000 + 86400000) % 86400000;
DROP TABLE telemetry_rollups_002;
DROP TABLE telemetry_names;

-- Keys that robots sign with, and their statements (docs/statements.md).

-- proposed_key: canonical JSON. signs: 1 once a key was put into use; every claim and result then needs a statement.
ALTER TABLE robots ADD COLUMN proposed_key TEXT;
ALTER TABLE robots ADD COLUMN signs INTEGER NOT NULL DEFAULT 0 CHECK (signs IN (0, 1));
-- Made again without the reference to tasks: a promised leaf stays in the queue when its task is deleted. Then all three
-- hashes are the leaf, until the leaf is signed.
ALTER TABLE completions RENAME TO completions_002;
CREATE TABLE completions (
  task_id TEXT NOT NULL PRIMARY KEY,
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
  statement_hash TEXT,
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'aborted')),
  CHECK ((state = 'failed') = (failure IS NOT NULL))
) STRICT;
INSERT INTO completions SELECT *, NULL, NULL FROM completions_002;
DROP TABLE completions_002;
CREATE INDEX completions_queue ON completions (round, reserve_seq) WHERE state = 'queued';
CREATE INDEX completions_waiting ON completions (queued_at, task_id)
  WHERE state IN ('queued', 'submitted');
CREATE INDEX completions_failed ON completions (updated_at, task_id) WHERE state = 'failed';
CREATE INDEX completions_proof_hash ON completions (proof_hash, reserve_seq);
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

-- place: 1 for the first key of a robot. last_number: statements with a higher number are refused, because the key was
-- replaced or revoked; NULL without limit.
CREATE TABLE robot_keys (
  kid TEXT NOT NULL PRIMARY KEY,
  robot_id TEXT NOT NULL REFERENCES robots,
  place INTEGER NOT NULL CHECK (place >= 1),
  public_key TEXT NOT NULL,
  first_number INTEGER NOT NULL CHECK (first_number >= 1),
  last_number INTEGER CHECK (last_number >= 0),
  grant_text TEXT NOT NULL,
  grant_signature TEXT NOT NULL,
  granted_at INTEGER NOT NULL,
  revocation_text TEXT,
  revocation_signature TEXT,
  revoked_at INTEGER,
  UNIQUE (robot_id, place),
  CHECK ((revocation_text IS NULL) = (revoked_at IS NULL)
    AND (revocation_text IS NULL) = (revocation_signature IS NULL)),
  CHECK (revoked_at IS NULL OR last_number IS NOT NULL)
) STRICT;

-- place: 1 for the first statement with this number; more are forks and branches. The deletion of a task sets statement and
-- task_id to NULL. There may be no task with this id, or one of another robot: statements arrive before their tasks.
CREATE TABLE statements (
  kid TEXT NOT NULL REFERENCES robot_keys,
  number INTEGER NOT NULL CHECK (number >= 1),
  place INTEGER NOT NULL CHECK (place BETWEEN 1 AND 16),
  robot_id TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('claim', 'result')),
  epoch TEXT NOT NULL,
  signed_hash TEXT NOT NULL,
  statement_hash TEXT NOT NULL,
  statement TEXT,
  task_id TEXT,
  received_at INTEGER NOT NULL,
  PRIMARY KEY (kid, number, place),
  UNIQUE (kid, signed_hash),
  CHECK ((statement IS NULL) = (task_id IS NULL))
) STRICT;
CREATE INDEX statements_task ON statements (task_id, robot_id, number, place) WHERE task_id IS NOT NULL;
CREATE TRIGGER statement_withheld AFTER UPDATE OF statement ON statements WHEN NEW.statement IS NULL BEGIN
  INSERT INTO storage_usage SELECT wallet, -octet_length(OLD.statement) FROM robots WHERE id = OLD.robot_id
    ON CONFLICT (wallet) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

-- Leaves that date a statement or a key text. They take free places of a transaction that is sent anyway, behind its
-- paying leaves. rank: 0 of a key text, 1 of a claim.
-- attempt_id: NULL while the leaf waits for a place.
CREATE TABLE free_leaves (
  leaf TEXT NOT NULL PRIMARY KEY,
  rank INTEGER NOT NULL CHECK (rank IN (0, 1)),
  created_at INTEGER NOT NULL,
  attempt_id TEXT,
  leaf_index INTEGER,
  CHECK ((attempt_id IS NULL) = (leaf_index IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX free_leaves_waiting ON free_leaves (rank, created_at, leaf) WHERE attempt_id IS NULL;
CREATE UNIQUE INDEX free_leaves_placed ON free_leaves (attempt_id, leaf_index)
  WHERE attempt_id IS NOT NULL;
-- leaf_count counts the paying leaves.
ALTER TABLE attempts ADD COLUMN free_leaf_count INTEGER NOT NULL DEFAULT 0 CHECK (free_leaf_count >= 0);

-- promise_key: JSON Web Key that signs promises while the account is in use; NULL if its key was never available.
ALTER TABLE anchoring_accounts ADD COLUMN promise_key TEXT;

-- As on PostgreSQL; always NULL.
ALTER TABLE leases ADD COLUMN presence INTEGER;

-- Leaves made again: the path is binary, and a leaf is assigned before its attempt is stored.
-- live: the attempt is mined or can still be, or is not signed yet. path: the hashes of the inclusion path, 32 bytes each.
ALTER TABLE leaves RENAME TO leaves_002;
CREATE TABLE leaves (
  id INTEGER PRIMARY KEY,
  attempt_id TEXT NOT NULL,
  leaf_index INTEGER NOT NULL CHECK (leaf_index >= 0),
  task_id TEXT NOT NULL,
  leaf TEXT NOT NULL,
  path BLOB NOT NULL,
  generation INTEGER NOT NULL,
  live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1)),
  settled_at INTEGER,
  UNIQUE (attempt_id, leaf_index),
  UNIQUE (task_id, generation)
) STRICT;
INSERT INTO leaves SELECT id, attempt_id, leaf_index, task_id, leaf,
    unhex(replace(path, '0x', ''), '[]",'), generation, live, settled_at
  FROM leaves_002;
DROP TABLE leaves_002;
CREATE UNIQUE INDEX leaves_live ON leaves (task_id) WHERE live = 1;

-- Attempts whose live leaves go back to the queue when the account's lease is taken: those that are being put together, and
-- dead ones.
CREATE TABLE assignments (
  attempt_id TEXT NOT NULL PRIMARY KEY,
  chain_id INTEGER NOT NULL,
  sender TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last acknowledgement of a robot's errors.
CREATE INDEX alerts_acknowledged ON alerts (robot_id, acknowledged_at)
  WHERE kind = 'error_event' AND acknowledged_at IS NOT NULL;
-- JSON array of the states that a rule of the kind robot_state names; NULL for other kinds.
ALTER TABLE alert_rules ADD COLUMN states TEXT;

-- How late the newest sample of the last request was, in ms, and how far the clock is behind, if that is known.
ALTER TABLE robots ADD COLUMN sample_lag INTEGER;
ALTER TABLE robots ADD COLUMN clock_behind INTEGER;

-- Charges by time, for reports.
CREATE INDEX ledger_settled ON ledger (wallet, at) WHERE kind = 'settle';
