/** What the cursors of lists are sealed with (core/cursors.ts); it stays, so that a cursor outlives a restart. */
export const cursorKey = `
CREATE TABLE cursor_key (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
INSERT INTO cursor_key VALUES (1, randomblob(32));
`;
