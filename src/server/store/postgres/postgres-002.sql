-- The number of the block whose hash is in genesis_hash: that of genesis, or a finalized one where nodes lack it.
ALTER TABLE chain_identity ADD COLUMN block_number bigint NOT NULL DEFAULT 0;

-- The checked time when it was last saved (rules/checked-time.ts), and how often an operator confirmed a clock.
CREATE TABLE checked_time (
  id integer PRIMARY KEY CHECK (id = 1),
  checked_at bigint NOT NULL,
  confirmations integer NOT NULL
);
-- A wrong clock at the first start of this version must not expire what is there.
INSERT INTO checked_time SELECT 1, max(at), 0 FROM (
  SELECT max(at) AS at FROM audit_log UNION ALL SELECT max(at) FROM ledger
  UNION ALL SELECT max(created_at) FROM tasks UNION ALL SELECT max(updated_at) FROM chain_status
) AS known HAVING max(at) IS NOT NULL;

-- Each webhook numbers its messages. last_number is that of its newest, also of one that had no room; missing_from is the
-- first such number since the last message that had room. stored_bytes is the size of its messages, each with
-- ROW_BYTES of rules/storage.ts.
ALTER TABLE webhooks ADD COLUMN last_number bigint NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN missing_from bigint;
ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_number_key;
DROP INDEX webhook_deliveries_webhook, webhook_deliveries_new, webhook_deliveries_age;
UPDATE webhook_deliveries d SET number = n.number FROM (
  SELECT id, row_number() OVER (PARTITION BY webhook_id ORDER BY number NULLS LAST, created_at, id) AS number
  FROM webhook_deliveries) AS n WHERE n.id = d.id;
ALTER TABLE webhook_deliveries ALTER COLUMN number SET NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at) WHERE state <> 'pending';
UPDATE webhooks w SET last_number = d.newest, stored_bytes = d.bytes FROM (
  SELECT webhook_id, max(number) AS newest, sum(octet_length(data) + 256) AS bytes
  FROM webhook_deliveries GROUP BY webhook_id) AS d WHERE d.webhook_id = w.id;
CREATE FUNCTION free_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- In the order of all other writes.
  PERFORM FROM webhooks WHERE id IN (SELECT webhook_id FROM gone) ORDER BY id FOR NO KEY UPDATE;
  UPDATE webhooks w SET stored_bytes = w.stored_bytes - f.bytes FROM (
    SELECT webhook_id, sum(octet_length(data) + 256) AS bytes FROM gone GROUP BY webhook_id) AS f
  WHERE w.id = f.webhook_id;
  RETURN NULL;
END $$;
CREATE TRIGGER webhook_deliveries_freed AFTER DELETE ON webhook_deliveries
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION free_webhook_deliveries();

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
ALTER TABLE webhooks ADD COLUMN funded integer NOT NULL DEFAULT 0;
UPDATE webhooks SET funded = 1 WHERE EXISTS (SELECT 1 FROM ledger g
  WHERE g.wallet = webhooks.wallet AND g.kind = 'grant' AND g.grant_id NOT LIKE 'signup:%');
CREATE INDEX webhooks_due ON webhooks (funded, next_at) WHERE next_at < 9007199254740991;
-- To find times that lie ahead because the clock went back, apart from the long pauses of those that fail.
CREATE INDEX webhooks_healthy ON webhooks (funded, next_at) WHERE failures = 0 AND next_at < 9007199254740991;

-- Retention serves the accounts in turns.
CREATE INDEX robot_traces_wallet ON robot_traces (wallet);

-- The operator can take granted credits back: a new kind of entry, which has an id as a grant has.
ALTER TABLE ledger
  DROP CONSTRAINT ledger_kind_check, DROP CONSTRAINT ledger_check, DROP CONSTRAINT ledger_check1,
  DROP CONSTRAINT ledger_check6,
  ADD CHECK (kind IN ('grant', 'revoke', 'reserve', 'settle', 'release')),
  ADD CHECK ((kind IN ('grant', 'revoke')) = (grant_id IS NOT NULL)),
  ADD CHECK ((kind IN ('grant', 'revoke')) = (task_id IS NULL)),
  ADD CHECK (anchors <= 0 OR kind <> 'revoke'),
  ADD CHECK (CASE WHEN kind IN ('reserve', 'revoke') THEN gas_wei <= 0 ELSE gas_wei >= 0 END);
DROP INDEX ledger_grant;
CREATE UNIQUE INDEX ledger_grant ON ledger (grant_id) WHERE grant_id IS NOT NULL;

-- Why the operator suspended the account; NULL if it is active, or no reason was given.
ALTER TABLE accounts ADD COLUMN suspension_reason text;
UPDATE accounts SET suspension_reason = (SELECT detail FROM audit_log l
    WHERE l.wallet = accounts.wallet AND l.kind = 'account_suspended' ORDER BY l.id DESC LIMIT 1)
  WHERE suspended_at IS NOT NULL;

-- The balance of the account, and what its next anchor needs, for operators; NULL if unknown.
ALTER TABLE leases ADD COLUMN balance_wei text;
ALTER TABLE leases ADD COLUMN needed_wei text;
