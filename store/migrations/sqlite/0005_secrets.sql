-- Secrets of a deployment, encrypted with a key that is not in the database.
CREATE TABLE secrets (
	name       TEXT PRIMARY KEY,
	ciphertext BLOB NOT NULL, -- age
	tools      TEXT NOT NULL DEFAULT '[]', -- JSON: patterns of the tools that may have it
	person     TEXT NOT NULL DEFAULT '', -- who set it last
	version    INTEGER NOT NULL,
	updated_at INTEGER NOT NULL -- µs
) STRICT;
