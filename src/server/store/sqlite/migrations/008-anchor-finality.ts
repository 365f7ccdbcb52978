/**
 * What follows an inclusion. `safe` belongs to the state `included`. Each sender's reasons stand at its lease, so
 * that several engines do not overwrite each other; `chain_status.degraded` keeps those of the database alone.
 * A completion is stored as `included` from its settlement on; beyond that its attempt says how it stands.
 */
export const anchorFinality = `
ALTER TABLE attempts ADD COLUMN safe INTEGER NOT NULL DEFAULT 0 CHECK (safe IN (0, 1));
CREATE INDEX attempts_included ON attempts (chain_id, sender, mined_block_number)
  WHERE state = 'included';

ALTER TABLE leases ADD COLUMN degraded TEXT NOT NULL DEFAULT '[]';
ALTER TABLE leases ADD COLUMN parked INTEGER NOT NULL DEFAULT 0 CHECK (parked >= 0);
UPDATE chain_status SET degraded =
  CASE WHEN degraded LIKE '%"restored"%' THEN '["restored"]' ELSE '[]' END;
`;
