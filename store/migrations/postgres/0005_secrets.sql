-- Secrets of a deployment, encrypted with a key that is not in the database.
CREATE TABLE secrets (
	name       text PRIMARY KEY,
	ciphertext bytea NOT NULL, -- age
	tools      text NOT NULL DEFAULT '[]', -- JSON: patterns of the tools that may have it
	person     text NOT NULL DEFAULT '', -- who set it last
	version    bigint NOT NULL,
	updated_at bigint NOT NULL -- µs
);
