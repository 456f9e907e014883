-- API tokens that were made by command. Revoked ones stay, so that the audit log's names stay clear.
CREATE TABLE tokens (
	name         TEXT PRIMARY KEY,
	hash         BLOB NOT NULL UNIQUE, -- SHA-256 of the secret, which is not kept
	scopes       TEXT NOT NULL, -- JSON: the kinds of calls it may make
	people       TEXT NOT NULL, -- JSON: whom it may speak for; empty: anybody of role user
	created_at   INTEGER NOT NULL, -- µs, as all of these
	expires_at   INTEGER NOT NULL DEFAULT 0, -- 0: never
	last_used_at INTEGER NOT NULL DEFAULT 0, -- to a minute; 0: never
	revoked_at   INTEGER NOT NULL DEFAULT 0 -- 0: it is not revoked
) STRICT;
