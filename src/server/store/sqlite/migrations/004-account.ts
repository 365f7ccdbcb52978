/**
 * Lists of tasks and sessions by account, the age of evidence, and the codes that hand a session to the
 * command line. The status is in the index, so that a filtered page costs what an unfiltered one does.
 */
export const account = `
DROP INDEX tasks_robot;
CREATE INDEX tasks_robot ON tasks (robot_id, status, created_at, id);
CREATE INDEX tasks_wallet ON tasks (wallet, status, created_at, id);

ALTER TABLE proofs ADD COLUMN stored_at INTEGER NOT NULL DEFAULT 0;
UPDATE proofs SET stored_at =
  coalesce((SELECT queued_at FROM completions WHERE task_id = proofs.task_id), 0);
CREATE INDEX proofs_age ON proofs (stored_at);

ALTER TABLE sessions ADD COLUMN signed_in_with TEXT NOT NULL DEFAULT 'wallet'
  CHECK (signed_in_with IN ('wallet', 'cli_code'));
CREATE INDEX sessions_wallet ON sessions (wallet, id);

CREATE TABLE cli_codes (
  code_hash TEXT NOT NULL PRIMARY KEY,
  challenge TEXT NOT NULL,
  session_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cli_codes_expiry ON cli_codes (expires_at);
`;
