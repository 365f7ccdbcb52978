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
