/**
 * What the chain knows of our accounts and a database that was put back does not. `adopted`: a variant that a block had; it
 * may be cheaper than the one before. `foreign_nonces`: used by transactions from elsewhere, each looked up by
 * `svc-server reconcile`; the next nonce of ours goes past them.
 */
export const putBack = `
ALTER TABLE variants ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0 CHECK (adopted IN (0, 1));

CREATE TABLE foreign_nonces (
  chain_id INTEGER NOT NULL,
  sender TEXT NOT NULL,
  nonce INTEGER NOT NULL CHECK (nonce >= 0),
  tx_hash TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (chain_id, sender, nonce)
) STRICT, WITHOUT ROWID;
`;
