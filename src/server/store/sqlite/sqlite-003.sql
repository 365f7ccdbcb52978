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
