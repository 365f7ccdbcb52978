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
-- first such number since the last message that had room. stored_bytes is the size of its messages, each with
-- ROW_BYTES of rules/storage.ts.
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
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at) WHERE state <> 'pending';
UPDATE webhooks SET (last_number, stored_bytes) = (
  SELECT coalesce(max(number), 0), coalesce(sum(octet_length(data) + 256), 0)
  FROM webhook_deliveries d WHERE d.webhook_id = webhooks.id);
CREATE TRIGGER webhook_deliveries_freed AFTER DELETE ON webhook_deliveries BEGIN
  UPDATE webhooks SET stored_bytes = stored_bytes - octet_length(OLD.data) - 256 WHERE id = OLD.webhook_id;
END;

-- The task orders completions of the same time, so that an evaluation of the alert rules can go on after one.
DROP INDEX completions_waiting;
CREATE INDEX completions_waiting ON completions (queued_at, task_id)
  WHERE state IN ('queued', 'submitted');
DROP INDEX completions_failed;
CREATE INDEX completions_failed ON completions (updated_at, task_id) WHERE state = 'failed';

-- The rules are evaluated by account.
DROP INDEX alert_rules_kind;

-- Webhooks with a message that waits, by the time of their next attempt. For all others that time is never: the relay
-- finds nothing to send to them once. funded is 1 if the account had a recent grant when the newest message was stored.
ALTER TABLE webhooks ADD COLUMN funded INTEGER NOT NULL DEFAULT 0;
UPDATE webhooks SET funded = 1 WHERE EXISTS (SELECT 1 FROM ledger g
  WHERE g.wallet = webhooks.wallet AND g.kind = 'grant' AND g.grant_id NOT LIKE 'signup:%');
CREATE INDEX webhooks_due ON webhooks (funded, next_at) WHERE next_at < 9007199254740991;
-- To find times that lie ahead because the clock went back, apart from the long pauses of those that fail.
CREATE INDEX webhooks_healthy ON webhooks (funded, next_at) WHERE failures = 0 AND next_at < 9007199254740991;

-- Retention serves the accounts in turns.
CREATE INDEX robot_traces_wallet ON robot_traces (wallet);

-- The operator can take granted credits back: a new kind of entry, which has an id as a grant has.
ALTER TABLE ledger RENAME TO ledger_001;
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
  wallet TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'revoke', 'reserve', 'settle', 'release')),
  anchors INTEGER NOT NULL,
  gas_wei TEXT NOT NULL
    CHECK (gas_wei GLOB '[-0-9]*' AND gas_wei <> '-' AND gas_wei NOT GLOB '?*[^0-9]*'),
  task_id TEXT,
  cycle INTEGER,
  grant_id TEXT,
  note TEXT,
  at INTEGER NOT NULL,
  CHECK ((kind IN ('grant', 'revoke')) = (grant_id IS NOT NULL)),
  CHECK ((kind IN ('grant', 'revoke')) = (task_id IS NULL)),
  CHECK ((task_id IS NULL) = (cycle IS NULL)),
  CHECK (anchors <= 0 OR kind <> 'revoke'),
  CHECK (anchors = 0 OR kind <> 'settle'),
  CHECK (anchors = -1 OR kind <> 'reserve'),
  CHECK (anchors = 1 OR kind <> 'release'),
  CHECK (gas_wei NOT LIKE '-%' OR kind IN ('reserve', 'revoke')),
  CHECK (gas_wei = '0' OR gas_wei LIKE '-%' OR kind NOT IN ('reserve', 'revoke'))
) STRICT;
INSERT INTO ledger SELECT * FROM ledger_001;
DROP TABLE ledger_001;
CREATE INDEX ledger_wallet ON ledger (wallet, seq);
CREATE UNIQUE INDEX ledger_reserve ON ledger (task_id, cycle) WHERE kind = 'reserve';
CREATE UNIQUE INDEX ledger_release ON ledger (task_id, cycle) WHERE kind = 'release';
CREATE UNIQUE INDEX ledger_settle ON ledger (task_id) WHERE kind = 'settle';
CREATE UNIQUE INDEX ledger_grant ON ledger (grant_id) WHERE grant_id IS NOT NULL;
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

-- Why the operator suspended the account; NULL if it is active, or no reason was given.
ALTER TABLE accounts ADD COLUMN suspension_reason TEXT;
UPDATE accounts SET suspension_reason = (SELECT detail FROM audit_log l
    WHERE l.wallet = accounts.wallet AND l.kind = 'account_suspended' ORDER BY l.id DESC LIMIT 1)
  WHERE suspended_at IS NOT NULL;

-- The balance of the account, and what its next anchor needs, for operators; NULL if unknown.
ALTER TABLE leases ADD COLUMN balance_wei TEXT;
ALTER TABLE leases ADD COLUMN needed_wei TEXT;
