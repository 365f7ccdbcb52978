/**
 * Evidence sealed under keys of its own (proof-cipher.ts), what was reconciled after a restore, and lists of
 * events that are read by robot, so that those of a deleted one are gone with it.
 */
export const erasure = `
-- Rows are only ever added, and a key that ended is overwritten by as many zeros: no row is moved, and no
-- page keeps a copy.
CREATE TABLE proof_keys (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
INSERT INTO proof_keys SELECT rowid, new_proof_key() FROM proofs ORDER BY rowid;

CREATE TABLE sealed_proofs (
  key_id INTEGER PRIMARY KEY REFERENCES proof_keys,
  task_id TEXT NOT NULL UNIQUE REFERENCES tasks,
  sealed BLOB NOT NULL,
  stored_at INTEGER NOT NULL
) STRICT;
INSERT INTO sealed_proofs
  SELECT k.id, p.task_id, seal_proof(p.proof, k.key), p.stored_at
  FROM proof_keys k CROSS JOIN proofs p ON p.rowid = k.id ORDER BY k.id;
DROP TABLE proofs;
ALTER TABLE sealed_proofs RENAME TO proofs;
CREATE INDEX proofs_age ON proofs (stored_at);
CREATE TRIGGER proof_erased AFTER DELETE ON proofs BEGIN
  UPDATE proof_keys SET key = zeroblob(32) WHERE id = OLD.key_id;
END;

-- One for each combination of filters: each ends with seq and reads a robot's events in order.
DROP INDEX events_wallet;
DROP INDEX events_wallet_type;
DROP INDEX events_robot;
DROP INDEX events_robot_type;
CREATE INDEX events_robot ON events (robot_id);
CREATE INDEX events_robot_severity ON events (robot_id, severity);
CREATE INDEX events_robot_type ON events (robot_id, event_type);
CREATE INDEX events_robot_type_severity ON events (robot_id, event_type, severity);
ALTER TABLE events DROP COLUMN wallet;

-- A row: the database is a restored one, and nobody but the senders reconciled since then may anchor.
CREATE TABLE restoration (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  restored_at INTEGER NOT NULL
) STRICT;
-- Until now the reason that is shown was the hold itself.
INSERT INTO restoration SELECT 1, updated_at FROM chain_status
  WHERE EXISTS (SELECT 1 FROM json_each(degraded) WHERE value = 'restored');
CREATE TABLE reconciled_senders (
  chain_id INTEGER NOT NULL,
  address TEXT NOT NULL,
  reconciled_at INTEGER NOT NULL,
  PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;
`;
