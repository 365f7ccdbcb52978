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

-- Each webhook numbers its messages. last_number is that of its newest, also of one that had no room; missing_from is the
-- first such number since the last message that had room. stored_bytes is the size of its messages (store/webhook-outbox.ts).
ALTER TABLE webhooks ADD COLUMN last_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN missing_from INTEGER;
ALTER TABLE webhook_deliveries RENAME TO webhook_deliveries_001;
CREATE TABLE webhook_deliveries (
  id TEXT NOT NULL PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'abandoned')),
  created_at INTEGER NOT NULL,
  number INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_status INTEGER,
  last_error TEXT,
  attempted_at INTEGER
) STRICT;
INSERT INTO webhook_deliveries SELECT id, webhook_id, type, data, state, created_at,
    row_number() OVER (PARTITION BY webhook_id ORDER BY number NULLS LAST, created_at, id),
    attempts, last_status, last_error, attempted_at
  FROM webhook_deliveries_001;
DROP TABLE webhook_deliveries_001;
CREATE UNIQUE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, number)
  WHERE state = 'pending';
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
UPDATE webhooks SET (last_number, stored_bytes) = (
  SELECT coalesce(max(number), 0), coalesce(sum(octet_length(data) + 256), 0)
  FROM webhook_deliveries d WHERE d.webhook_id = webhooks.id);
CREATE TRIGGER webhook_deliveries_freed AFTER DELETE ON webhook_deliveries BEGIN
  UPDATE webhooks SET stored_bytes = stored_bytes - octet_length(OLD.data) - 256 WHERE id = OLD.webhook_id;
END;
