/**
 * Samples, events and what is counted of them, of tasks and of anchors at the moment they happen, so that
 * no statistic ever counts history. A `scope` is the wallet of an account or the id of a fleet. No row here
 * refers to a robot by key: what a deleted robot leaves behind goes in small steps afterwards.
 */
export const telemetry = `
CREATE TABLE telemetry (
  robot_id TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  id TEXT NOT NULL,
  battery_pct REAL,
  state TEXT,
  metrics TEXT NOT NULL,
  PRIMARY KEY (robot_id, recorded_at, id)
) STRICT, WITHOUT ROWID;

-- summary: core/sample-summary.ts.
CREATE TABLE telemetry_rollups (
  robot_id TEXT NOT NULL,
  resolution TEXT NOT NULL CHECK (resolution IN ('hour', 'day')),
  at INTEGER NOT NULL,
  samples INTEGER NOT NULL CHECK (samples > 0),
  summary TEXT NOT NULL,
  PRIMARY KEY (robot_id, resolution, at)
) STRICT, WITHOUT ROWID;

-- Of which times battery_pct and state are; never later than the arrival.
ALTER TABLE robots ADD COLUMN battery_at INTEGER;
ALTER TABLE robots ADD COLUMN state_at INTEGER;

-- Each index ends with seq, so that every filter reads its page in order.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  robot_id TEXT NOT NULL,
  id TEXT NOT NULL,
  wallet TEXT NOT NULL,
  event_type TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warn', 'error')),
  message TEXT NOT NULL,
  payload TEXT NOT NULL,
  occurred_at TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (robot_id, id)
) STRICT;
CREATE INDEX events_wallet ON events (wallet, severity);
CREATE INDEX events_wallet_type ON events (wallet, event_type, severity);
CREATE INDEX events_robot ON events (robot_id, severity);
CREATE INDEX events_robot_type ON events (robot_id, event_type, severity);

CREATE TABLE activity_hours (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  samples INTEGER NOT NULL DEFAULT 0,
  info INTEGER NOT NULL DEFAULT 0,
  warn INTEGER NOT NULL DEFAULT 0,
  error INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE anchor_days (
  scope TEXT NOT NULL,
  at INTEGER NOT NULL,
  anchors INTEGER NOT NULL CHECK (anchors > 0),
  gas_wei TEXT NOT NULL,
  PRIMARY KEY (scope, at)
) STRICT, WITHOUT ROWID;
INSERT INTO anchor_days
  SELECT e.wallet, e.at - e.at % 86400000, count(*),
    wei_spent(r.gas_wei || ' ' || e.gas_wei)
  FROM ledger e
  JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
  WHERE e.kind = 'settle'
  GROUP BY e.wallet, e.at - e.at % 86400000;

CREATE TABLE task_counts (
  robot_id TEXT NOT NULL PRIMARY KEY,
  claimed INTEGER NOT NULL CHECK (claimed >= 0),
  verified INTEGER NOT NULL CHECK (verified >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO task_counts
  SELECT robot_id, sum(status = 'claimed'), sum(status = 'verified') FROM tasks GROUP BY robot_id;
CREATE TRIGGER task_counted AFTER INSERT ON tasks BEGIN
  INSERT INTO task_counts VALUES (NEW.robot_id, NEW.status = 'claimed', NEW.status = 'verified')
    ON CONFLICT (robot_id) DO UPDATE SET claimed = claimed + excluded.claimed,
      verified = verified + excluded.verified;
END;
CREATE TRIGGER task_recounted AFTER UPDATE OF status ON tasks WHEN NEW.status <> OLD.status BEGIN
  UPDATE task_counts SET
    claimed = claimed - (OLD.status = 'claimed') + (NEW.status = 'claimed'),
    verified = verified - (OLD.status = 'verified') + (NEW.status = 'verified')
  WHERE robot_id = NEW.robot_id;
END;
CREATE TRIGGER task_uncounted AFTER DELETE ON tasks BEGIN
  UPDATE task_counts SET claimed = claimed - (OLD.status = 'claimed'),
    verified = verified - (OLD.status = 'verified')
  WHERE robot_id = OLD.robot_id;
END;

-- Robots that are gone and may have left samples, roll-ups or events behind.
CREATE TABLE robot_traces (
  robot_id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TRIGGER robot_gone AFTER DELETE ON robots BEGIN
  INSERT INTO robot_traces VALUES (OLD.id) ON CONFLICT DO NOTHING;
  DELETE FROM task_counts WHERE robot_id = OLD.id;
END;
CREATE TRIGGER fleet_gone AFTER DELETE ON fleets BEGIN
  DELETE FROM activity_hours WHERE scope = OLD.id;
  DELETE FROM anchor_days WHERE scope = OLD.id;
END;
`;
