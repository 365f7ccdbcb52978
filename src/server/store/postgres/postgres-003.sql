-- Roll-ups in a form that SQL can sum: samples by state are
-- `SELECT key, sum(value::bigint) FROM telemetry_rollups, jsonb_each_text(states::jsonb) GROUP BY key`.
-- states: JSON { state: samples }. metrics: JSON { name: [count, min, max, sum] }; battery: one such array, or NULL. Minutes
-- are deleted with their samples; hours and days stay. migrations.ts moves the rows.
ALTER TABLE telemetry_rollups RENAME TO telemetry_rollups_002;
ALTER INDEX telemetry_rollups_pkey RENAME TO telemetry_rollups_002_pkey;
CREATE TABLE telemetry_rollups (
  robot_id uuid NOT NULL,
  resolution text COLLATE "C" NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
  at bigint NOT NULL,
  samples bigint NOT NULL CHECK (samples > 0),
  battery text,
  states text NOT NULL,
  metrics text NOT NULL,
  PRIMARY KEY (robot_id, resolution, at)
) WITH (fillfactor = 80);

-- Keys that robots sign with, and their statements (docs/statements.md).

-- proposed_key: canonical JSON. signs: 1 once a key was put into use; every claim and result then needs a statement.
ALTER TABLE robots ADD COLUMN proposed_key text;
ALTER TABLE robots ADD COLUMN signs integer NOT NULL DEFAULT 0 CHECK (signs IN (0, 1));
-- A promised leaf stays in the queue when its task is deleted. Then all three hashes are the leaf, until it is signed.
ALTER TABLE completions DROP CONSTRAINT completions_task_id_fkey;
ALTER TABLE completions ADD COLUMN statement_hash text COLLATE "C";
ALTER TABLE completions ADD COLUMN outcome text COLLATE "C"
  CHECK (outcome IN ('succeeded', 'failed', 'aborted'));

-- place: 1 for the first key of a robot. last_number: statements with a higher number are refused, because the key was
-- replaced or revoked; NULL without limit.
CREATE TABLE robot_keys (
  kid text COLLATE "C" PRIMARY KEY,
  robot_id uuid NOT NULL REFERENCES robots,
  place integer NOT NULL CHECK (place >= 1),
  public_key text NOT NULL,
  first_number bigint NOT NULL CHECK (first_number >= 1),
  last_number bigint CHECK (last_number >= 0),
  grant_text text NOT NULL,
  grant_signature text NOT NULL,
  granted_at bigint NOT NULL,
  revocation_text text,
  revocation_signature text,
  revoked_at bigint,
  UNIQUE (robot_id, place),
  CHECK ((revocation_text IS NULL) = (revoked_at IS NULL)
    AND (revocation_text IS NULL) = (revocation_signature IS NULL)),
  CHECK (revoked_at IS NULL OR last_number IS NOT NULL)
);

-- place: 1 for the first statement with this number; more are forks and branches. The deletion of a task sets statement and
-- task_id to NULL. There may be no task with this id, or one of another robot: statements arrive before their tasks.
CREATE TABLE statements (
  kid text COLLATE "C" NOT NULL REFERENCES robot_keys,
  number bigint NOT NULL CHECK (number >= 1),
  place integer NOT NULL CHECK (place BETWEEN 1 AND 16),
  robot_id uuid NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('claim', 'result')),
  epoch uuid NOT NULL,
  signed_hash text COLLATE "C" NOT NULL,
  statement_hash text COLLATE "C" NOT NULL,
  statement text,
  task_id uuid,
  received_at bigint NOT NULL,
  PRIMARY KEY (kid, number, place),
  UNIQUE (kid, signed_hash),
  CHECK ((statement IS NULL) = (task_id IS NULL))
);
CREATE INDEX statements_task ON statements (task_id, robot_id, number, place) WHERE task_id IS NOT NULL;

-- Leaves that date a statement or a key text. They take free places of a transaction that is sent anyway, behind its
-- paying leaves. rank: 0 of a key text, 1 of a claim.
-- attempt_id: NULL while the leaf waits for a place.
CREATE TABLE free_leaves (
  leaf text COLLATE "C" NOT NULL PRIMARY KEY,
  rank integer NOT NULL CHECK (rank IN (0, 1)),
  created_at bigint NOT NULL,
  attempt_id uuid,
  leaf_index integer,
  CHECK ((attempt_id IS NULL) = (leaf_index IS NULL))
);
CREATE INDEX free_leaves_waiting ON free_leaves (rank, created_at, leaf) WHERE attempt_id IS NULL;
CREATE UNIQUE INDEX free_leaves_placed ON free_leaves (attempt_id, leaf_index)
  WHERE attempt_id IS NOT NULL;
-- leaf_count counts the paying leaves.
ALTER TABLE attempts ADD COLUMN free_leaf_count integer NOT NULL DEFAULT 0 CHECK (free_leaf_count >= 0);

-- promise_key: JSON Web Key that signs promises while the account is in use; NULL if its key was never available.
ALTER TABLE anchoring_accounts ADD COLUMN promise_key text COLLATE "C";

-- The advisory lock that the process of the holder has while it is connected (anchoring/leases.ts); NULL if it announced none.
ALTER TABLE leases ADD COLUMN presence bigint;

-- Tasks are counted once per statement, however many it has, in the order of robots, so that two statements that change
-- tasks of the same robots do not wait for each other.
CREATE FUNCTION count_new_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO task_counts AS t
    SELECT robot_id, count(*) FILTER (WHERE status = 'claimed'), count(*) FILTER (WHERE status = 'verified')
    FROM new_tasks GROUP BY robot_id ORDER BY robot_id
    ON CONFLICT (robot_id) DO UPDATE SET
      claimed = t.claimed + excluded.claimed, verified = t.verified + excluded.verified;
  RETURN NULL;
END $$;
CREATE FUNCTION count_changed_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH changed AS (
    SELECT n.robot_id, sum((n.status = 'claimed')::int - (o.status = 'claimed')::int) AS claimed,
      sum((n.status = 'verified')::int - (o.status = 'verified')::int) AS verified
    FROM new_tasks n JOIN old_tasks o USING (id) WHERE n.status <> o.status GROUP BY n.robot_id
  ), counts AS (
    SELECT robot_id FROM task_counts WHERE robot_id IN (SELECT robot_id FROM changed)
    ORDER BY robot_id FOR UPDATE
  )
  UPDATE task_counts t SET claimed = t.claimed + c.claimed, verified = t.verified + c.verified
  FROM changed c JOIN counts USING (robot_id) WHERE t.robot_id = c.robot_id;
  RETURN NULL;
END $$;
DROP TRIGGER task_counted ON tasks;
DROP TRIGGER task_recounted ON tasks;
CREATE TRIGGER task_added AFTER INSERT ON tasks REFERENCING NEW TABLE AS new_tasks
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_tasks();
CREATE TRIGGER task_changed AFTER UPDATE ON tasks REFERENCING OLD TABLE AS old_tasks NEW TABLE AS new_tasks
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_tasks();
CREATE TRIGGER task_counted AFTER DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION count_task();

-- A leaf is assigned before its attempt is stored. path: the hashes of the inclusion path, 32 bytes each.
ALTER TABLE leaves DROP CONSTRAINT leaves_attempt_id_fkey;
ALTER TABLE leaves ALTER COLUMN path TYPE bytea
  USING decode(regexp_replace(path, '0x|[^0-9a-f]', '', 'g'), 'hex');

-- Attempts whose live leaves go back to the queue when the account's lease is taken: those that are being put together, and
-- dead ones.
CREATE TABLE assignments (
  attempt_id uuid PRIMARY KEY,
  chain_id bigint NOT NULL,
  sender text COLLATE "C" NOT NULL
);

-- The last acknowledgement of a robot's errors.
CREATE INDEX alerts_acknowledged ON alerts (robot_id, acknowledged_at)
  WHERE kind = 'error_event' AND acknowledged_at IS NOT NULL;
-- JSON array of the states that a rule of the kind robot_state names; NULL for other kinds.
ALTER TABLE alert_rules ADD COLUMN states text;

-- How late the newest sample of the last request was, in ms, and how far the clock is behind, if that is known.
ALTER TABLE robots ADD COLUMN sample_lag bigint;
ALTER TABLE robots ADD COLUMN clock_behind bigint;

-- Charges by time, for reports.
CREATE INDEX ledger_settled ON ledger (wallet, at, seq) WHERE kind = 'settle';
