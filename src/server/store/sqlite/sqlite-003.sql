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
ALTER TABLE completions ADD COLUMN statement_hash TEXT;
ALTER TABLE completions ADD COLUMN outcome TEXT
  CHECK (outcome IN ('succeeded', 'failed', 'aborted'));

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
  attempt_id TEXT REFERENCES attempts,
  leaf_index INTEGER,
  CHECK ((attempt_id IS NULL) = (leaf_index IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX free_leaves_waiting ON free_leaves (rank, created_at, leaf) WHERE attempt_id IS NULL;
CREATE UNIQUE INDEX free_leaves_placed ON free_leaves (attempt_id, leaf_index)
  WHERE attempt_id IS NOT NULL;
-- leaf_count counts the paying leaves.
ALTER TABLE attempts ADD COLUMN free_leaf_count INTEGER NOT NULL DEFAULT 0 CHECK (free_leaf_count >= 0);
