-- The number of the block whose hash is in genesis_hash: that of genesis, or a finalized one where nodes lack it.
ALTER TABLE chain_identity ADD COLUMN block_number INTEGER NOT NULL DEFAULT 0;

-- The checked time when it was last saved (rules/checked-time.ts), and how often an operator confirmed a clock.
CREATE TABLE checked_time (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  checked_at INTEGER NOT NULL,
  confirmations INTEGER NOT NULL
) STRICT;
-- A wrong clock at the first start of this version must not expire what is there.
INSERT INTO checked_time SELECT 1, max(at), 0 FROM (
  SELECT max(at) AS at FROM audit_log UNION ALL SELECT max(at) FROM ledger
  UNION ALL SELECT max(created_at) FROM tasks UNION ALL SELECT max(updated_at) FROM chain_status
) AS known HAVING max(at) IS NOT NULL;
