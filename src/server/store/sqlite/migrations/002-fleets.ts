/**
 * `tags` is a JSON array of texts. A robot's `fleet_id` names a fleet of its own account; a foreign key would
 * not know the account, so the writes hold it.
 */
export const fleets = `
CREATE TABLE fleets (
  id TEXT NOT NULL PRIMARY KEY,
  wallet TEXT NOT NULL REFERENCES accounts,
  name TEXT NOT NULL,
  description TEXT,
  location TEXT,
  shift TEXT,
  tags TEXT NOT NULL,
  sort_order INTEGER NOT NULL CHECK (sort_order BETWEEN 0 AND 9007199254740991),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX fleets_wallet ON fleets (wallet, sort_order, id);

CREATE INDEX robots_fleet ON robots (fleet_id) WHERE fleet_id IS NOT NULL;
`;
