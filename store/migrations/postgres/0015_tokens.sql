-- API tokens that were made by command. Revoked ones stay, so that the audit log's names stay clear.
CREATE TABLE tokens (
	name         text PRIMARY KEY,
	hash         bytea NOT NULL UNIQUE, -- SHA-256 of the secret, which is not kept
	scopes       text NOT NULL, -- JSON: the kinds of calls it may make
	people       text NOT NULL, -- JSON: whom it may speak for; empty: anybody of role user
	created_at   bigint NOT NULL, -- µs, as all of these
	expires_at   bigint NOT NULL DEFAULT 0, -- 0: never
	last_used_at bigint NOT NULL DEFAULT 0, -- to a minute; 0: never
	revoked_at   bigint NOT NULL DEFAULT 0 -- 0: it is not revoked
);
